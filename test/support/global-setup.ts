import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres';
import { migrateDatabase } from '../../src/platform/database/migrate';

declare global {
  var testPostgres: EmbeddedPostgres | undefined;
}

/**
 * Starts one PostgreSQL per run, or uses TEST_DATABASE_URL, and migrates a template database. Test
 * files clone the template.
 */
export default async function setup(): Promise<void> {
  const given = process.env['TEST_DATABASE_URL'];
  if (given === undefined) {
    const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' };
    globalThis.testPostgres = await startEmbeddedPostgres(mkdtempSync(join(tmpdir(), 'carrier-identity-test-')), {
      settings,
    });
  }
  const server = given ?? globalThis.testPostgres?.url ?? '';
  const template = `carrier_identity_template_${process.pid}`;
  const client = new Client({ connectionString: server });
  await client.connect();
  await client.query(`create database ${template}`);
  await client.end();
  const url = new URL(server);
  url.pathname = `/${template}`;
  await migrateDatabase(url.href);
  process.env['TEST_SERVER_URL'] = server;
  process.env['TEST_TEMPLATE'] = template;
}
