import fc from 'fast-check';
import { types } from 'pg';
import { registerTimeParser, timesAsTexts } from './time-parser';

const parserOf = () => types.getTypeParser(types.builtins.TIMESTAMPTZ) as (text: string) => Date | number;
const original = parserOf();
registerTimeParser();
const asText = timesAsTexts.getTypeParser(types.builtins.TIMESTAMPTZ) as (text: string) => string;
const inJson = (time: unknown) => JSON.parse(JSON.stringify(time)) as unknown;

describe('times as PostgreSQL writes them', () => {
  it('reads the same times as the driver', () => {
    const text = fc
      .date({ min: new Date('0100-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
      .chain((date) =>
        fc
          .constantFrom('.000', '', `.${String(date.getUTCMilliseconds()).padStart(3, '0')}`, '.5')
          .map((end) => [date, end]),
      )
      .map(([date, end]) => `${(date as Date).toISOString().slice(0, 19).replace('T', ' ')}${String(end)}+00`);
    fc.assert(
      fc.property(text, (time) => {
        expect(parserOf()(time)).toEqual(original(time));
        expect(asText(time)).toBe(inJson(original(time)));
      }),
    );
  });

  it.each([
    'infinity',
    '-infinity',
    '0044-03-15 12:00:00+00 BC',
    '2026-11-20 13:00:00.1+05:30',
    '12026-11-20 13:00:00+00',
  ])('leaves %s to the driver', (time) => {
    expect(parserOf()(time)).toEqual(original(time));
    expect(asText(time)).toBe(inJson(original(time)));
  });

  it('reads exactly these as text', () => {
    for (const oid of [types.builtins.INT4, types.builtins.BOOL, types.builtins.JSONB, 1009])
      expect(timesAsTexts.getTypeParser(oid, 'text')).toBe(types.getTypeParser(oid, 'text'));
  });
});
