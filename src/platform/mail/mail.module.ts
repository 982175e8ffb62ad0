import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { MailerModule, type MailerOptions } from '@nestjs-modules/mailer';
import { HandlebarsAdapter } from '@nestjs-modules/mailer/adapters/handlebars.adapter';
import { CONFIG, type Config } from '../config/config';
import { discarded, MailService } from './mail.service';

const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 };

/** Provides mail by SMTP, or as files if no mail server is configured. */
@Module({
  imports: [
    MailerModule.forRootAsync({
      imports: [],
      inject: [CONFIG],
      useFactory: (config: Config): MailerOptions => ({
        transport:
          config.SMTP_URL === undefined
            ? { streamTransport: true, buffer: true }
            : { url: config.SMTP_URL, ...timeouts },
        transports: { [discarded]: { streamTransport: true, buffer: true } },
        defaults: { from: config.MAIL_FROM } as MailerOptions['defaults'],
        template: {
          dir: join(__dirname, 'templates'),
          // The template has its styles inline; the inliner would drop those of the dark mode.
          adapter: new HandlebarsAdapter(undefined, { inlineCssEnabled: false }),
          options: { strict: false },
        },
      }),
    }),
  ],
  providers: [MailService],
  exports: [MailService],
})
export class MailModule {}
