import { Client, type ClientBase } from 'pg';
import { DatabaseFault } from './database-fault';
import expected from './expected-schema.json';
import type { StartLog } from './migration-lock';
import { schemaObjects } from './schema-objects';

/** Objects of a schema with their properties, and the applied migrations. */
export type SchemaObjects = Record<string, string>;

const listedMax = 20;

/**
 * Compares the schema with `expected-schema.json`, which `npm run generate` writes. Ignores
 * additional objects. Takes a few milliseconds.
 * If a newer release has migrated the database, only logs the differences: this release must work
 * with the newer schema during a rolling upgrade and after going back.
 * @throws DatabaseFault listing what is missing or different
 */
export async function checkSchema(url: string, log: StartLog): Promise<void> {
  const found = await readSchema(url);
  const faults = Object.entries(expected as SchemaObjects)
    .filter(([name, properties]) => found[name] !== properties)
    .map(([name]) => `  - ${name}: ${name in found ? 'differs' : 'missing'}`);
  if (faults.length === 0) return;
  const more = faults.length > listedMax ? [`  - and ${faults.length - listedMax} more`] : [];
  const list = [...faults.slice(0, listedMax), ...more].join('\n');
  const newer = Object.keys(found).filter((name) => name.startsWith('migration ') && !(name in expected));
  if (newer.length === 0)
    throw new DatabaseFault(
      `The schema of the database differs from the schema of this release (docs/upgrade.md):\n${list}`,
    );
  log.warn(`the schema was changed by a newer release (${newer.join(', ')}):\n${list}`);
}

/** Returns the objects of a database that the check compares. */
export async function readSchema(url: string): Promise<SchemaObjects> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await objectsOf(client);
  } finally {
    await client.end();
  }
}

async function objectsOf(client: ClientBase): Promise<SchemaObjects> {
  const { rows } = await client.query<{ name: string; properties: string }>(schemaObjects);
  return Object.fromEntries(rows.map(({ name, properties }) => [name, properties]));
}
