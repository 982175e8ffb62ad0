import type { ClientBase } from 'pg';

/** Returns everything that a migration can create in a schema, one line each, sorted. */
export async function describeSchema(client: ClientBase, schema = 'public'): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(everything, [schema]);
  return rows.map(({ line }) => line);
}

/** Excludes the objects of extensions. */
const own = (catalogue: string, row: string) => `
      not exists (
        select 1
        from pg_depend d
        where d.classid = '${catalogue}'::regclass
          and d.objid = ${row}.oid
          and d.deptype = 'e'
      )`;

const everything = `
  select line collate "C" as line
  from (
    select format('relation %s %s %s', relkind, relname, array_to_string(reloptions, ','))
    from pg_class c
    where relnamespace = to_regnamespace($1::text)
      and relkind <> 'i'
      and ${own('pg_class', 'c')}
    union all
    select
      format(
        'column %s.%s %s %s %s %s', c.relname, attname, format_type(atttypid, atttypmod), attnotnull,
        attgenerated, pg_get_expr(adbin, adrelid)
      )
    from pg_attribute a
    join pg_class c on c.oid = attrelid
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where relnamespace = to_regnamespace($1::text)
      and relkind = 'r'
      and attnum > 0
      and not attisdropped
    union all
    select format('index %s', indexdef)
    from pg_indexes
    where schemaname = $1::text
    union all
    select format('constraint %s.%s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
    from pg_constraint
    where connamespace = to_regnamespace($1::text) and contype <> 'n'
    union all
    select format('trigger %s', pg_get_triggerdef(t.oid))
    from pg_trigger t
    join pg_class c on c.oid = tgrelid
    where relnamespace = to_regnamespace($1::text) and not tgisinternal
    union all
    select format('function %s', pg_get_functiondef(p.oid))
    from pg_proc p
    where pronamespace = to_regnamespace($1::text) and ${own('pg_proc', 'p')}
    union all
    select format('type %s %s', typtype, typname)
    from pg_type t
    where typnamespace = to_regnamespace($1::text)
      and typrelid = 0
      and typelem = 0
      and ${own('pg_type', 't')}
    union all
    select format('comment %s', obj_description(oid))
    from pg_class
    where relnamespace = to_regnamespace($1::text) and obj_description(oid) is not null
  ) lines (line)
  order by 1`;
