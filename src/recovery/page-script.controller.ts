import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../access/allow.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';

const script = readFileSync(join(__dirname, 'templates', 'link-page.js'), 'utf8');

/** Serves the script of the page that sets a password. */
@ApiExcludeController()
@Controller('auth')
export class PageScriptController {
  /** Get the script of the page */
  @Get('link-page.js')
  @Public()
  @Header('content-type', 'text/javascript; charset=utf-8')
  @Endpoint({ answer: { status: 200, description: 'The script' } })
  script(): string {
    return script;
  }
}
