import { joinSql, rawSql, sql } from './sql';

describe('sql', () => {
  it('numbers the values of nested fragments in the order of the text', () => {
    const inner = sql`b = ${2} and c = ${'three'}`;
    expect(sql`a = ${1} and (${inner}) and d = ${null}`.toQuery()).toEqual({
      text: 'a = $1 and (b = $2 and c = $3) and d = $4',
      values: [1, 2, 'three', null],
    });
  });

  it('never puts a value into the text', () => {
    const { text, values } = sql`select ${"'; drop table users; --"}`.toQuery();
    expect(text).toBe('select $1');
    expect(values).toEqual(["'; drop table users; --"]);
  });

  it('joins fragments with the given text', () => {
    expect(joinSql([sql`a = ${1}`, rawSql('b'), sql`c = ${2}`], ' or ').toQuery()).toEqual({
      text: 'a = $1 or b or c = $2',
      values: [1, 2],
    });
    expect(joinSql([], ' or ', 'false').toQuery()).toEqual({ text: 'false', values: [] });
  });
});
