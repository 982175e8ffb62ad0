import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Body, Controller, Delete, Get, Header, HttpCode, Param, Post } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiTags } from '@nestjs/swagger';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { Actor, Caller } from '../../access/actor';
import { Allow, Public } from '../../access/allow.decorator';
import { CurrentActor, CurrentCaller } from '../../access/caller.decorator';
import { SingleWrite } from '../../access/long-work.decorator';
import { Endpoint } from '../../http/endpoint.decorator';
import {
  AcceptedResponse,
  ChangeEmailRequest,
  LinkResponse,
  ResetEmailRequest,
  ResetLinkResponse,
  ResetRequest,
} from '../auth.dto';
import { Page } from './pages';
import { RecoveryService } from './recovery.service';
import { ResetRequestsService } from './reset-requests.service';

const pageScript = readFileSync(join(__dirname, 'templates', 'link-page.js'), 'utf8');
const asPage = 'With `Accept: text/html`, the response is a page whose form posts to this path and needs no script.';

/** Routes to set passwords and confirm e-mail addresses by mailed link. */
@ApiTags('Passwords and addresses')
@Controller('auth')
export class RecoveryController {
  constructor(
    private readonly recovery: RecoveryService,
    private readonly requests: ResetRequestsService,
  ) {}

  /** Reset a password by e-mail */
  @Post('reset_email')
  @HttpCode(202)
  @Public('login', true)
  @Endpoint({
    description:
      'Always returns the same response in the same time, whether the address is known or not. ' +
      'Mails at most one link per address in 5 minutes, 3 in an hour and 10 in a day, ' +
      'and at most 3 invitations in an hour. Requests from IP addresses from which the user logged in within 30 days ' +
      'have separate limits. The mail is sent within about 5 seconds.',
    answer: {
      status: 202,
      type: AcceptedResponse,
      description: 'Accepted. If a user has this address, a mail is sent.',
    },
    errors: ['auth.too_many_attempts'],
  })
  async requestPasswordReset(
    @Body() request: ResetEmailRequest,
    @CurrentCaller() caller: Caller,
  ): Promise<AcceptedResponse> {
    await this.requests.request(request.email, caller);
    return {};
  }

  /** Check a link to set a password */
  @Get('reset/:token')
  @Public('requests', true)
  @Page('reset-form')
  @Endpoint({
    description: `Does not use up the link, so mail scanners do no harm. ${asPage}`,
    answer: { status: 200, type: ResetLinkResponse, description: 'The link is valid' },
    errors: ['reset.token_invalid', 'auth.too_many_attempts'],
  })
  checkResetLink(@Param('token') token: string): Promise<ResetLinkResponse> {
    return this.recovery.checkReset(token);
  }

  /** Set a password with a link */
  @Post('reset/:token')
  @HttpCode(204)
  @Public('login', true)
  @RouteConfig({ form: true })
  @Page('reset-done')
  @Endpoint({
    description:
      'Sets the password. The link works once. ' +
      'All sessions of the user end, the user gets a mail, and an invited user becomes active. ' +
      'A link with the kind `not_me` also restores the address that it was mailed to, revokes API keys, disables ' +
      'webhooks and removes second factors that were added since the first change that it undoes. ' +
      'A rejected password does not use up the link. ' +
      'At most 8 new passwords of a user are processed at the same time; further requests return 429. ' +
      asPage,
    answer: { status: 204, description: 'The password is set' },
    errors: ['reset.token_invalid', 'user.email_taken', 'auth.too_many_attempts', 'service.overloaded'],
  })
  resetPassword(
    @Param('token') token: string,
    @Body() request: ResetRequest,
    @CurrentCaller() caller: Caller,
  ): Promise<void> {
    return this.recovery.reset(token, request.password, caller);
  }

  /** Change your own e-mail address */
  @Post('email')
  @HttpCode(202)
  @Allow(undefined, { limit: 'login' })
  @Endpoint({
    description:
      'The new address takes effect once it is confirmed by mailed link within 24 h. The old address gets a notice. ' +
      'After a reset of the second factors, enrol one first.',
    answer: { status: 202, type: AcceptedResponse, description: 'Accepted. A mail is sent to the new address.' },
    errors: ['auth.wrong_current_password', 'auth.too_many_attempts', 'auth.mail_code_required', 'service.overloaded'],
  })
  async changeEmail(@CurrentActor() actor: Actor, @Body() request: ChangeEmailRequest): Promise<AcceptedResponse> {
    await this.recovery.proposeEmail(actor, request.email, request.current_password);
    return {};
  }

  /** Cancel your new e-mail address */
  @Delete('email')
  @HttpCode(204)
  @Allow()
  @SingleWrite()
  @Endpoint({
    description: 'Drops the address that is not confirmed yet, and voids its link.',
    answer: { status: 204, description: 'No new address is waiting for its confirmation' },
  })
  cancelEmail(@CurrentActor() actor: Actor): Promise<void> {
    return this.recovery.cancelEmail(actor);
  }

  /** Check a link to confirm an address */
  @Get('email/:token')
  @Public()
  @Page('email-form')
  @Endpoint({
    description: `Does not use up the link. ${asPage}`,
    answer: { status: 200, type: LinkResponse, description: 'The link is valid' },
    errors: ['email.token_invalid'],
  })
  checkEmailLink(@Param('token') token: string): Promise<LinkResponse> {
    return this.recovery.checkEmail(token);
  }

  /** Confirm an e-mail address */
  @Post('email/:token')
  @HttpCode(204)
  @Public('login')
  @RouteConfig({ form: true })
  @Page('email-done')
  @Endpoint({
    description: `Confirms exactly the address that the link was mailed to. The link works once. ${asPage}`,
    answer: { status: 204, description: 'The address is confirmed' },
    errors: ['email.token_invalid', 'user.email_taken', 'auth.too_many_attempts'],
    withoutBody: true,
  })
  confirmEmail(@Param('token') token: string, @CurrentCaller() caller: Caller): Promise<void> {
    return this.recovery.confirmEmail(token, caller);
  }

  /** Get the script of the page that sets a password */
  @Get('link-page.js')
  @Public()
  @ApiExcludeEndpoint()
  @Header('content-type', 'text/javascript; charset=utf-8')
  @Endpoint({ answer: { status: 200, description: 'The script' } })
  getPageScript(): string {
    return pageScript;
  }
}
