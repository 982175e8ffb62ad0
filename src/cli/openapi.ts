import 'reflect-metadata';
import { readFileSync, writeFileSync } from 'node:fs';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from '../app.module';
import { loadConfig } from '../config/config';
import { createDocument } from '../docs/document';

/** Writes the OpenAPI document, or with `--check` fails when the file is not what the code says. */
async function main(): Promise<void> {
  const file = process.argv.at(-1) ?? 'openapi.json';
  const config = loadConfig({ DATABASE_URL: 'postgres://nowhere/nothing', APP_SECRET: 'only-for-the-document-0123456789abcdef' });
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.forRoot(config), new FastifyAdapter(), {
    preview: true,
    logger: ['error'],
  });
  const text = `${JSON.stringify(createDocument(app), null, 2)}\n`;
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) throw new Error(`${file} is not what the code says: run npm run openapi`);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
