import type { TestService } from '../service';

/** Returns the names of all tables outside the system schemas, with their schemas. */
export async function tableNames(service: TestService): Promise<string[]> {
  const tables = await service.rows<{ name: string }>(`
    select format('%I.%I', schemaname, tablename) as name
    from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema')`);
  return tables.map(({ name }) => name);
}

/** Returns every row of every table as text, one row per line. */
export async function tableContents(service: TestService): Promise<string> {
  const names = await tableNames(service);
  const rows = await Promise.all(
    names.map((name) => service.rows<{ text: string }>(`select t::text as text from ${name} t`)),
  );
  return rows
    .flat()
    .map(({ text }) => text)
    .join('\n');
}
