import fc from 'fast-check';
import { types } from 'pg';
import { timesAsTexts } from './time-parser';

const { TIMESTAMPTZ } = types.builtins;
const parseDate = types.getTypeParser(TIMESTAMPTZ) as (text: string) => Date | number;
const asText = timesAsTexts.getTypeParser(TIMESTAMPTZ) as (text: string) => string;
const inJson = (time: unknown) => JSON.parse(JSON.stringify(time)) as unknown;

describe('timesAsTexts', () => {
  it('returns the text that JSON has for the date', () => {
    const text = fc
      .date({ min: new Date('0100-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
      .chain((date) =>
        fc
          .constantFrom('.000', '', `.${String(date.getUTCMilliseconds()).padStart(3, '0')}`, '.5')
          .map((end) => [date, end]),
      )
      .map(([date, end]) => `${(date as Date).toISOString().slice(0, 19).replace('T', ' ')}${String(end)}+00`);
    fc.assert(fc.property(text, (time) => expect(asText(time)).toBe(inJson(parseDate(time)))));
  });

  it.each([
    'infinity',
    '-infinity',
    '0044-03-15 12:00:00+00 BC',
    '2026-11-20 13:00:00.1+05:30',
    '12026-11-20 13:00:00+00',
  ])('leaves %s to the driver', (time) => {
    expect(asText(time)).toBe(inJson(parseDate(time)));
  });

  it('changes no other type', () => {
    for (const oid of [types.builtins.INT4, types.builtins.BOOL, types.builtins.JSONB, 1009])
      expect(timesAsTexts.getTypeParser(oid, 'text')).toBe(types.getTypeParser(oid, 'text'));
  });
});
