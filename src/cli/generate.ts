import 'reflect-metadata';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { ownPermissions } from '../access/permissions';
import { AppModule } from '../app.module';
import { errorCodes } from '../common/errors/error-codes';
import { loadConfig } from '../config/config';
import { settings } from '../config/settings';
import { createDocument } from '../docs/document';
import { runCommand } from './run-command';

/**
 * Writes the files that are made from code, or with `--check` fails when one is not what the code
 * says.
 */
runCommand(async () => {
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
    'docs/config.md': configPage(),
    '.env.example': environmentExample(),
  };
  const stale = Object.entries(files).filter(([file, text]) => !isCurrent(file, text));
  if (process.argv.includes('--check') && stale.length > 0)
    throw new Error(`not what the code says: ${stale.map(([file]) => file).join(', ')}; run npm run generate`);
  for (const [file, text] of stale) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
});

/** Invisible characters of patterns are escaped: nobody could review them in the committed file. */
function documentFile(document: object): string {
  const text = JSON.stringify(document, null, 2);
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return `${text.replace(/^ *"pattern": .*$/gm, (line) => line.replace(/[^ -~]/g, escaped))}\n`;
}

function isCurrent(file: string, text: string): boolean {
  try {
    return readFileSync(file, 'utf8') === text;
  } catch {
    return false;
  }
}

function errorsPage(): string {
  const rows = Object.entries(errorCodes).map(
    ([code, { status, title, meaning }]) => `| \`${code}\` | ${status} | ${title} | ${meaning} |`,
  );
  return `# Error codes\n\nEvery refusal is \`application/problem+json\` (RFC 9457); \`code\` is one of these and never changes.\n\n| code | status | title | meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}

function permissionsPage(): string {
  const rows = Object.entries(ownPermissions).map(([name, meaning]) => `| \`${name}\` | ${meaning} |`);
  return `# Permissions\n\nThe service's own; the platform's modules add theirs by naming them in roles. \`*\` is all.\n\n| permission | allows |\n|---|---|\n${rows.join('\n')}\n`;
}

function settingRows(): { name: string; fallback: string; meaning: string }[] {
  return Object.entries(settings.shape).map(([name, schema]) => {
    const unset = schema.safeParse(undefined);
    const fallback = unset.success && unset.data !== undefined ? String(unset.data) : '';
    return { name, fallback, meaning: schema.description ?? '' };
  });
}

function configPage(): string {
  const rows = settingRows().map(
    ({ name, fallback, meaning }) => `| \`${name}\` | ${fallback === '' ? '–' : `\`${fallback}\``} | ${meaning} |`,
  );
  return `# Configuration\n\nEnvironment variables; a file \`.env\` is read too, what is set in the environment wins. All are checked at start, every fault is named at once, and then the process stops with status 1.\n\n| variable | default | meaning |\n|---|---|---|\n${rows.join('\n')}\n`;
}

function environmentExample(): string {
  return settingRows()
    .map(({ name, fallback, meaning }) => `# ${meaning}\n#${name}=${fallback}\n`)
    .join('\n');
}
