import { Controller, Get, Header, Param } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../access/allow.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import { DocsService } from './docs.service';

/** Serves the pages that explain the error codes. */
@ApiExcludeController()
@Controller('docs/errors')
export class DocsController {
  constructor(private readonly docs: DocsService) {}

  /** Explain all error codes */
  @Get()
  @Public()
  @Header('content-type', 'text/html; charset=utf-8')
  @Endpoint({ answer: { status: 200, description: 'A page' } })
  all(): string {
    return this.docs.errorPage(null);
  }

  /** Explain one error code */
  @Get(':code')
  @Public()
  @Header('content-type', 'text/html; charset=utf-8')
  @Endpoint({ answer: { status: 200, description: 'A page' } })
  one(@Param('code') code: string): string {
    return this.docs.errorPage(code);
  }
}
