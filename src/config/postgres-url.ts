import { readFileSync } from 'node:fs';
import { z } from 'zod';

const sslModes = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];
const sslFiles = ['sslrootcert', 'sslcert', 'sslkey'];

/** Tells how to write a password in a URL. Fault messages never repeat the URL itself. */
export const encodingHint = 'write `@ : / ? #` in a password as %40 %3A %2F %3F %23';

/** Accepts the URL of a PostgreSQL database with valid TLS parameters and readable files. */
export const postgresUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, { error: 'must begin with postgres://', abort: true })
  .refine((text) => URL.canParse(text) && new URL(text).hash === '', {
    error: `must be a URL: ${encodingHint}`,
    abort: true,
  })
  .superRefine((text, context) => {
    for (const fault of tlsFaults(new URL(text).searchParams)) context.addIssue(fault);
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
  if (new URL(text).searchParams.get('uselibpqcompat') === 'true') return text;
  return text.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
}
