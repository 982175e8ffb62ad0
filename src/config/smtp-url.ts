import { z } from 'zod';
import { encodingHint } from './postgres-url';

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
