import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Built files lie one level deeper, in `dist`. */
const root = join(__dirname, __filename.endsWith('.js') ? '../../..' : '../..');

/** Returns the path of a file at the root of the project. The image must contain the file. */
export function projectPath(name: string): string {
  return join(root, name);
}

/** Reads a text file at the root of the project. The image must contain the file. */
export function readProjectFile(name: string): string {
  return readFileSync(projectPath(name), 'utf8');
}

/** Name and version of the service, from `package.json`. */
export const { name, version } = JSON.parse(readProjectFile('package.json')) as { name: string; version: string };
