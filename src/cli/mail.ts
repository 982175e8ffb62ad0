import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { canonicalEmail, isEmailAddress } from '../http/fields/email-address';
import { loadConfig } from '../platform/config/config';
import { ConfigModule } from '../platform/config/config.module';
import { MailModule } from '../platform/mail/mail.module';
import { MailService, type SentMail } from '../platform/mail/mail.service';

/** Contains only the modules that send mails, because the command needs no database. */
@Module({})
class MailOnlyModule {}

/** Sends a test mail and prints the result. */
export async function mailTest(address: string): Promise<void> {
  const to = canonicalEmail(address);
  if (!isEmailAddress(to)) throw new Error(`${address} is not an e-mail address.`);
  const imports = [ConfigModule.forRoot(loadConfig()), MailModule];
  const app = await NestFactory.createApplicationContext(
    { module: MailOnlyModule, imports },
    { logger: ['error'], abortOnError: false },
  );
  try {
    console.log(describe(to, await app.get(MailService).sendTest(to)));
  } catch (error) {
    throw withCause(error);
  } finally {
    await app.close();
  }
}

function describe(to: string, { file, response }: SentMail): string {
  if (file !== undefined) return `No mail server is configured (SMTP_URL). The mail to ${to} is in ${file}`;
  return `The mail server accepted the mail to ${to}: ${response ?? 'no response'}`;
}

/** Adds the original error, with hosts and ports: operators may see them. */
function withCause(error: unknown): unknown {
  if (!(error instanceof Error) || !(error.cause instanceof Error)) return error;
  return new Error(`The mail was not sent (${error.message}): ${error.cause.message}`);
}
