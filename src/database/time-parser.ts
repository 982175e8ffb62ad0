import { types } from 'pg';

const parseAny = types.getTypeParser(types.builtins.TIMESTAMPTZ) as (text: string) => Date;
/** What PostgreSQL writes for every time of our columns when its time zone is UTC: to the millisecond, of this era. */
const usual = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?\+00$/;

/** Reads times by the engine's own parser where they have the usual form: a page of users has five hundred, and the driver's parser takes twice as long. */
export function registerTimeParser(): void {
  types.setTypeParser(types.builtins.TIMESTAMPTZ, (text) =>
    usual.test(text) ? new Date(`${text.slice(0, 10)}T${text.slice(11)}:00`) : parseAny(text),
  );
}
