import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { z } from 'zod';

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
