import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const classForm = /\/\*\*((?:[^*]|\*(?!\/))*)\*\/\s*export class (\w+)/g;

/**
 * Returns the docstrings of all classes in `*.dto.ts` files by class name.
 * The compiler plugin of @nestjs/swagger reads the docstrings of fields, but not those of classes.
 */
export function classDocstrings(directory: string): Map<string, string> {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.dto.ts'),
  );
  const classes = files.flatMap((file) => [...readFileSync(join(directory, file), 'utf8').matchAll(classForm)]);
  return new Map(classes.map(([, text = '', name = '']) => [name, text.replace(/^\s*\* ?/gm, '').trim()]));
}
