import { loadConfig } from './config';

const sourceOf = (BREACHED_PASSWORDS: string) =>
  loadConfig({ APP_SECRET: 'test-secret-0123456789-abcdefghijklmnop', BREACHED_PASSWORDS }).BREACHED_PASSWORDS;

it.each([
  ['https://ranges.example.net/', 'https://ranges.example.net'],
  ['http://127.0.0.1:8080/pwned//', 'http://127.0.0.1:8080/pwned'],
  [`${__dirname}/`, __dirname],
])('looks up breached passwords in %s', (given, used) => {
  expect(sourceOf(given)).toBe(used);
});

it.each([
  'https://user:not-to-be-shown@ranges.example.net',
  'https://ranges.example.net/?key=not-to-be-shown',
  'https://ranges.example.net/#range',
  'https:///range',
  'ftp://ranges.example.net',
  'ranges.example.net',
  '.',
  '/nowhere',
  __filename,
])('rejects %s as source of breached passwords (F27)', (given) => {
  const rule = 'an http(s) URL without user, query and fragment, or the absolute path of an existing folder';
  const message = `The configuration is invalid:\n  - BREACHED_PASSWORDS: must be ${rule}`;
  expect(() => sourceOf(given)).toThrow(new Error(message));
});
