import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A source file of the service. */
export interface SourceFile {
  /** path from the root of the project */
  path: string;
  text: string;
}

/** Returns the TypeScript files of `src` whose paths end with a suffix, without specs. */
export function sourceFiles(suffix = '.ts'): SourceFile[] {
  return readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(suffix) && !file.endsWith('.spec.ts'))
    .sort()
    .map((file) => ({ path: join('src', file), text: readFileSync(join('src', file), 'utf8') }));
}
