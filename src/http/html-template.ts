import { readFileSync } from 'node:fs';
import { create } from 'handlebars';

/**
 * Compiles a Handlebars template that is shipped beside the code, and returns its renderer.
 * The renderer escapes all values, and throws if the template names a value that is missing.
 */
export function compileTemplate<Values>(file: string): (values: Values) => string {
  return create().compile<Values>(readFileSync(file, 'utf8'), { strict: true });
}
