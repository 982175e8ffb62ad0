/** Excludes the objects of extensions. */
const isOwn = (catalogue: string, row: string) => `not exists (
      select from pg_depend
      where classid = '${catalogue}'::regclass and objid = ${row} and deptype = 'e'
    )`;

/** The columns that an index or a trigger uses, also in expressions and conditions. */
const columnsOf = (catalogue: string, row: string) => `(
      select coalesce(string_agg(distinct attname, ', ' order by attname), '')
      from pg_depend
      join pg_attribute on attrelid = refobjid and attnum = refobjsubid
      where classid = '${catalogue}'::regclass and objid = ${row} and refclassid = 'pg_class'::regclass
        and refobjsubid > 0
    )`;

/** The enabled triggers of a partition. */
const triggersOf = (partition: string) => `(
      select string_agg(tgname, ', ' order by tgname)
      from pg_trigger
      where tgrelid = ${partition} and tgenabled in ('O', 'A')
    )`;

/**
 * Reads tables, columns, indexes, constraints, triggers and functions of the current schema, and
 * the applied migrations. An invalid index and a disabled trigger count as missing.
 * Of partitions, only the triggers are compared, because their names depend on the date.
 * Reads properties from the catalogue instead of definitions as SQL, because other versions of
 * PostgreSQL may write definitions differently.
 */
export const schemaObjects = `
  with tables as (
    select oid as table_id, relname as table_name
    from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
      and ${isOwn('pg_class', 'oid')}
  )
  select format('table %s', table_name) as name, '' as properties
  from tables
  union all
  select
    format('column %s.%s', table_name, attname),
    concat_ws(
      ', ', format_type(atttypid, atttypmod), case when attnotnull then 'not null' end,
      case when atthasdef then 'default' end
    )
  from tables
  join pg_attribute on attrelid = table_id
  where attnum > 0 and not attisdropped
  union all
  select
    format('index %s on %s', relname, table_name),
    concat_ws(
      ', ', amname, case when indisunique then 'unique' end, ${columnsOf('pg_class', 'indexrelid')},
      case when indpred is not null then 'partial' end
    )
  from tables
  join pg_index on indrelid = table_id
  join pg_class c on c.oid = indexrelid
  join pg_am on pg_am.oid = relam
  where indisvalid and not exists (select from pg_constraint where conindid = indexrelid and contype in ('p', 'u', 'x'))
  union all
  select
    format('constraint %s on %s', conname, table_name),
    concat_ws(
      ', ', contype::text,
      (
        select string_agg(attname, ', ' order by attname)
        from pg_attribute
        where attrelid = conrelid and attnum = any(conkey)
      )
    )
  from tables
  join pg_constraint on conrelid = table_id
  where contype in ('p', 'u', 'f', 'c')
  union all
  select
    format('trigger %s on %s', tgname, table_name),
    concat_ws(
      ', ', tgfoid::regproc::text, encode(tgargs, 'escape'), format('type %s', tgtype),
      ${columnsOf('pg_trigger', 'pg_trigger.oid')}
    )
  from tables
  join pg_trigger on tgrelid = table_id
  where not tgisinternal and tgenabled in ('O', 'A')
  union all
  select
    format('partitions of %s', table_name),
    string_agg(distinct coalesce(${triggersOf('inhrelid')}, 'no triggers'), '; ')
  from tables
  join pg_inherits on inhparent = table_id
  group by table_name
  union all
  select format('function %s', p.oid::regprocedure), format('%s, body %s', prorettype::regtype, md5(prosrc))
  from pg_proc p
  where pronamespace = current_schema()::regnamespace and ${isOwn('pg_proc', 'p.oid')}
  union all
  select format('migration %s', name), ''
  from migrations`;
