import { partsOf } from './user-agents';

it.each<[agent: string, browser: string | null, os: string | null, device: string | null]>([
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/130.0.0.0 Safari/537.36',
    'Chrome 130',
    'Windows 10 or 11',
    'desktop',
  ],
  [
    'Mozilla/5.0 (iPad; CPU OS 17_1 like Mac OS X) Version/17.1 Mobile/15E148 Safari/604.1',
    'Safari 17',
    'iOS 17',
    'tablet',
  ],
  ['curl/8.10.1', 'curl 8', null, null],
  ['billing-module/2.0 (node)', 'billing-module 2', null, null],
  ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', 'Googlebot 2', null, 'bot'],
  ['Mozilla/5.0 something', null, null, null],
])('returns browser, operating system and device of %s', (agent, browser, os, device) => {
  expect(partsOf(agent)).toEqual({ browser, os, device });
});

it.each([
  'Mozilla/5.0 (1.'.padEnd(10_000, '1.'),
  '<script>alert(1)</script>'.repeat(400),
  'Mozilla/5.0 (Linux; '.padEnd(10_000, 'Android '),
  ...['(/'.repeat(5_000), '\u00ff'.repeat(512), '__proto__/1.0', 'constructor/1 toString'],
])('returns short parts without markup for a hostile user agent (case %#) (S18)', (agent) => {
  const parts = Object.values(partsOf(agent)).filter((part) => part !== null);
  for (const part of parts) expect(part.length).toBeLessThanOrEqual(81);
  expect(parts.join()).not.toContain('<');
});
