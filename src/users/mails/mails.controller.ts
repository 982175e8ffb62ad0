import { Controller, Get, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../../access/actor';
import { Allow } from '../../access/allow.decorator';
import { CurrentActor } from '../../access/caller.decorator';
import { ListQuery } from '../../access/list-query.decorator';
import { LongWork } from '../../access/long-work.decorator';
import { Endpoint } from '../../http/endpoint.decorator';
import { PathId } from '../../http/fields/path-id.decorator';
import type { Page } from '../../http/lists/page';
import { mailList } from './mail-list';
import { MailListResponse, MailResponse } from './mails.dto';
import { MailsService } from './mails.service';

/** Mails that are not sent yet. */
@ApiTags('Mails')
@Controller('mail')
export class MailsController {
  constructor(private readonly mails: MailsService) {}

  /** List waiting and failed mails */
  @Get('list')
  @Allow('mail:manage')
  @LongWork()
  @Endpoint({
    description:
      'Lists the mails to users within the scope that are not sent yet. Failed mails are retried with back-off, ' +
      'in at most 25 attempts in about four days. `state_in=retrying,failed` returns the mails with a failed attempt.',
    answer: { status: 200, type: MailListResponse, description: 'One page of mails' },
  })
  listMails(@CurrentActor() actor: Actor, @ListQuery(mailList) query: ListQuery): Promise<Page<MailResponse>> {
    return this.mails.list(actor, query);
  }

  /** Send a waiting or failed mail now */
  @Post(':mail_id/retry')
  @HttpCode(202)
  @Allow('mail:manage')
  @Endpoint({
    description:
      'Starts the next attempt within seconds, and resets the number of attempts. If the mail contains a link, the ' +
      'link is new. An invitation or confirmation is delayed again if its address has received three in the last ' +
      'hour. A mail that is no longer needed, such as an invitation of an active user, is dropped.',
    answer: { status: 202, type: MailResponse, description: 'The mail, which is sent in the background' },
    errors: ['mail.not_found', 'mail.being_sent'],
    withoutBody: true,
  })
  retryMail(@CurrentActor() actor: Actor, @PathId('mail_id') mail_id: string): Promise<MailResponse> {
    return this.mails.retry(actor, mail_id);
  }
}
