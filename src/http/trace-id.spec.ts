import { traceIdOf } from './trace-id';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent = '00f067aa0ba902b7';

it.each([
  ['the current version', `00-${trace}-${parent}-01`],
  ['unknown flags', `00-${trace}-${parent}-ff`],
  ['a later version', `01-${trace}-${parent}-01`],
  ['further fields of a later version', `cc-${trace}-${parent}-01-what-the-future-brings`],
])('reads the trace id of %s', (_name, traceparent) => {
  expect(traceIdOf({ traceparent })).toBe(trace);
});

it.each([
  ['no header', undefined],
  ['an empty header', ''],
  ['the forbidden version', `ff-${trace}-${parent}-01`],
  ['a trace id of zeros', `00-${'0'.repeat(32)}-${parent}-01`],
  ['a parent id of zeros', `00-${trace}-${'0'.repeat(16)}-01`],
  ['capitals', `00-${trace.toUpperCase()}-${parent}-01`],
  ['a short trace id', `00-${trace.slice(1)}-${parent}-01`],
  ['missing flags', `00-${trace}-${parent}`],
  ['further fields of version 00', `00-${trace}-${parent}-01-more`],
  ['further characters of a later version', `01-${trace}-${parent}-01.more`],
  ['two headers', `00-${trace}-${parent}-01, 00-${trace}-${parent}-01`],
  ['a line break', `00-${trace}-${parent}-01\n`],
])('ignores %s', (_name, traceparent) => {
  expect(traceIdOf({ traceparent })).toBeUndefined();
});
