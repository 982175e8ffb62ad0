import { z } from 'zod';

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
