import { Controller, Get, Header, Param } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../access/allow.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import { DocsService } from './docs.service';

/** What the error codes mean. */
@ApiExcludeController()
@Controller('docs/errors')
export class DocsController {
  constructor(private readonly docs: DocsService) {}

  /** All codes. */
  @Get()
  @Public('none')
  @Header('content-type', 'text/html; charset=utf-8')
  @Endpoint({ summary: 'Explain all error codes', answer: { status: 200, description: 'A page' } })
  all(): string {
    return this.docs.errorPage(null);
  }

  /** One code. */
  @Get(':code')
  @Public('none')
  @Header('content-type', 'text/html; charset=utf-8')
  @Endpoint({ summary: 'Explain one error code', answer: { status: 200, description: 'A page' } })
  one(@Param('code') code: string): string {
    return this.docs.errorPage(code);
  }
}
