import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { Client } from 'pg';

/** Stops the embedded PostgreSQL, or drops the template database. */
export default async function teardown(): Promise<void> {
  const postgres = globalThis.testPostgres;
  if (postgres !== undefined) {
    await postgres.stop();
    rmSync(dirname(postgres.directory), { recursive: true, force: true });
    return;
  }
  const client = new Client({ connectionString: process.env['TEST_SERVER_URL'] });
  await client.connect();
  await client.query(`drop database if exists ${process.env['TEST_TEMPLATE']} with (force)`);
  await client.end();
}
