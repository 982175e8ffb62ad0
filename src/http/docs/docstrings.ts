import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const form = /\/\*\*((?:[^*]|\*(?!\/))*)\*\/\s*(?:export class (\w+)|[^\n]*namedEnum\(\s*'(\w+)')/g;

/**
 * Returns the docstrings of all DTO classes and named enums by name.
 * The compiler plugin of @nestjs/swagger reads only the docstrings of fields.
 */
export function docstringsIn(directory: string): Map<string, string> {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const found = files.flatMap((file) => [...readFileSync(join(directory, file), 'utf8').matchAll(form)]);
  const clean = (text: string) => text.replace(/^\s*\* ?/gm, '').trim();
  return new Map(found.map(([, text = '', type, name]) => [type ?? name ?? '', clean(text)]));
}
