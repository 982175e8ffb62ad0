import 'reflect-metadata';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { ownPermissions } from '../access/permissions';
import { AppModule } from '../app.module';
import { errorCodes } from '../http/errors/error-codes';
import { loadConfig } from '../platform/config/config';
import { secretSettings, settings } from '../platform/config/settings';
import { createDocument } from '../http/docs/document';
import { eventCatalogue, type EventDefinition, type EventType, targetOf } from '../audit/event-catalogue';
import { runCommand } from './run-command';

/** Writes the generated files. With `--check`, fails if a generated file is outdated. */
runCommand(async () => {
  const { check } = parseArgs({ options: { check: { type: 'boolean' } } }).values;
  const config = loadConfig({
    DATABASE_URL: 'postgres://nowhere/nothing',
    APP_SECRET: 'only-for-the-document-0123456789abcdef',
  });
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.forRoot(config), new FastifyAdapter(), {
    preview: true,
    logger: ['error'],
  });
  const files: Record<string, string> = {
    'openapi.json': documentFile(createDocument(app)),
    'docs/errors.md': errorsPage(),
    'docs/permissions.md': permissionsPage(),
    'docs/events.md': eventsPage(),
    'docs/config.md': configPage(),
    '.env.example': environmentExample(),
  };
  const stale = Object.entries(files).filter(([file, text]) => !isCurrent(file, text));
  if (check && stale.length > 0)
    throw new Error(`outdated: ${stale.map(([file]) => file).join(', ')}; run npm run generate`);
  for (const [file, text] of stale) writeFileSync(file, text);
});

/** Escapes invisible characters in patterns, so that the committed file can be reviewed. */
function documentFile(document: object): string {
  const text = JSON.stringify(document, null, 2);
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return `${text.replace(/^ *"pattern": .*$/gm, (line) => line.replace(/[^ -~]/g, escaped))}\n`;
}

function isCurrent(file: string, text: string): boolean {
  return existsSync(file) && readFileSync(file, 'utf8') === text;
}

function errorsPage(): string {
  const rows = Object.entries(errorCodes).map(
    ([code, { status, title, meaning }]) => `| \`${code}\` | ${status} | ${title} | ${meaning} |`,
  );
  return page(
    'Error codes',
    'Every error response is `application/problem+json` (RFC 9457). Its `code` is listed here and never changes. ' +
      'In `errors`, `params` contains the values of `detail`, so that clients can translate errors by `code`.',
    ['code', 'status', 'title', 'meaning'],
    rows,
  );
}

function permissionsPage(): string {
  const rows = Object.entries(ownPermissions).map(([name, meaning]) => `| \`${name}\` | ${meaning} |`);
  return page(
    'Permissions',
    'Permissions of the service. Modules of the platform add their own by naming them in roles. ' +
      '`*` grants all permissions.',
    ['permission', 'allows'],
    rows,
  );
}

function eventsPage(): string {
  const list = (keys: readonly string[]) => (keys.length === 0 ? '–' : keys.map((key) => `\`${key}\``).join(', '));
  const rows = Object.entries<EventDefinition>(eventCatalogue).map(
    ([type, { meaning, personal = [], impersonal = [] }]) =>
      `| \`${type}\` | \`${targetOf(type as EventType)}\` | ${meaning} | ${list(impersonal)} | ${list(personal)} |`,
  );
  return page(
    'Events',
    'The audit log (`GET /audit/list`) records these events. `changes` contains some of the keys.\n' +
      'When a user is purged, the service erases the personal keys from the events about the user.',
    ['type', 'target', 'meaning', 'keys', 'personal keys'],
    rows,
  );
}

function settingRows(): { name: string; fallback: string; meaning: string }[] {
  return Object.entries(settings.shape).map(([name, schema]) => {
    const unset = schema.safeParse(undefined);
    const fallback = unset.success && unset.data !== undefined ? String(unset.data) : '';
    const isSecret = (secretSettings as readonly string[]).includes(name);
    const file = isSecret ? `. \`${name}_FILE\` names a file to read it from` : '';
    return { name, fallback, meaning: `${schema.description}${file}` };
  });
}

function configPage(): string {
  const rows = settingRows().map(
    ({ name, fallback, meaning }) => `| \`${name}\` | ${fallback === '' ? '–' : `\`${fallback}\``} | ${meaning} |`,
  );
  return page(
    'Configuration',
    'The service reads environment variables and a file `.env`. The environment takes precedence. ' +
      'All variables are checked at start. If any is invalid, the service lists every fault and exits with status 1. ' +
      'It logs a warning for each unknown variable that looks like a misspelled setting.',
    ['variable', 'default', 'meaning'],
    rows,
  );
}

function page(title: string, introduction: string, columns: string[], rows: string[]): string {
  const head = [`| ${columns.join(' | ')} |`, `|${'---|'.repeat(columns.length)}`];
  return `# ${title}\n\n${introduction}\n\n${[...head, ...rows].join('\n')}\n`;
}

function environmentExample(): string {
  return settingRows()
    .map(({ name, fallback, meaning }) => `# ${meaning}\n#${name}=${fallback}\n`)
    .join('\n');
}
