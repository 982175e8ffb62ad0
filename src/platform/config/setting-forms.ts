import { existsSync, readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { hostFaults, hostUrls } from './host-urls';

const sslModes = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];
const sslFiles = ['sslrootcert', 'sslcert', 'sslkey'];

/** Tells how to write a password in a URL. Fault messages never repeat the URL itself. */
const encodingHint = 'write `@ : / ? #` in a password as %40 %3A %2F %3F %23';

/** Accepts the URL of a PostgreSQL database with valid TLS parameters and readable files. */
export const postgresUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, { error: 'must begin with postgres://', abort: true })
  .refine((text) => hostUrls(text).every((url) => URL.canParse(url) && new URL(url).hash === ''), {
    error: `must be a URL: ${encodingHint}`,
    abort: true,
  })
  .superRefine((text, context) => {
    const parameters = new URL(hostUrls(text)[0] as string).searchParams;
    for (const fault of [...hostFaults(text), ...tlsFaults(parameters)]) context.addIssue(fault);
  })
  .transform(verifyFully)
  .optional();

function tlsFaults(parameters: URLSearchParams): string[] {
  const mode = parameters.get('sslmode') ?? 'disable';
  return [
    ...(sslModes.includes(mode) ? [] : [`sslmode must be one of ${sslModes.join(', ')}`]),
    ...sslFiles.flatMap((name) => {
      const path = parameters.get(name);
      const fault = path === null ? null : unreadable(path);
      return fault === null ? [] : [`the file of ${name} cannot be read (${fault})`];
    }),
  ];
}

/** Returns the error code of reading a file, or null. */
function unreadable(path: string): string | null {
  try {
    readFileSync(path);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'invalid';
  }
}

/**
 * Replaces `prefer`, `require` and `verify-ca` by `verify-full`. The driver treats them the same,
 * but prints a warning, because pg 9 will verify less in the first three modes.
 */
function verifyFully(text: string): string {
  if (/[?&]uselibpqcompat=true(&|$)/.test(text)) return text;
  return text.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
}

/** Accepts the URL of a mail server. */
export const smtpUrl = z
  .string()
  .regex(/^smtps?:\/\//, { error: 'must begin with smtp:// or smtps://', abort: true })
  .refine(isServer, `must be a URL without a path: ${encodingHint}`)
  .optional();

/**
 * Returns whether a text is a URL with a host and without a path. The URL `smtp://user:25/x@host`
 * has the host `user`, because a slash ends the host.
 */
function isServer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { hostname, pathname, search, hash } = new URL(text);
  return hostname !== '' && ['', '/'].includes(pathname) && !search.includes('@') && hash === '';
}

/** Accepts the base URL of a range service, without trailing slashes, or a folder that exists. */
export const breachedSource = z
  .string()
  .refine(
    (text) => isBaseUrl(text) || isFolder(text),
    'must be an http(s) URL without user, query and fragment, or the absolute path of an existing folder',
  )
  .transform((text) => text.replace(/(?!^)\/+$/, ''))
  .optional();

function isBaseUrl(text: string): boolean {
  return /^https?:\/\/[^\s/@?#][^\s@?#]*$/.test(text) && URL.canParse(text);
}

function isFolder(path: string): boolean {
  // The entry `.` exists only in folders whose files the service may open.
  return isAbsolute(path) && existsSync(`${path}/.`);
}

// Matches secrets that are long enough but publicly known: placeholders of examples and templates.
const placeholder = new RegExp(
  '256.?bit|change.?(me|this|it)|replace.?(me|this)|your.{0,20}(secret|key)|' +
    '(super|my|top|very).?secret|example|placeholder|default|passw(or)?d',
  'i',
);
const repetition = /^(.{1,16})\1+.{0,15}$/;

/** Accepts a secret of at least 32 bytes that is not publicly known. */
export const secret = () =>
  z
    .string()
    .refine((text) => Buffer.byteLength(text) >= 32, 'must have at least 32 bytes')
    .refine(
      (text) => new Set(text).size >= 10 && !placeholder.test(text) && !repetition.test(text),
      'is too simple: generate one with `openssl rand -base64 32`',
    )
    .optional();
