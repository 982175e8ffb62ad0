import { readFileSync } from 'node:fs';
import { secretSettings } from './settings';

interface WithSecrets {
  environment: NodeJS.ProcessEnv;
  /** one text per fault, beginning with the name of its variable */
  faults: string[];
}

/**
 * Replaces `<name>_FILE` of each secret by `<name>` with the content of the file, without the line
 * break at its end. Faults never quote the value: it may be the secret itself.
 */
export function readSecretFiles(given: NodeJS.ProcessEnv): WithSecrets {
  const environment = { ...given };
  const faults: string[] = [];
  for (const name of secretSettings) {
    const path = given[`${name}_FILE`];
    if (path === undefined) continue;
    if (given[name] !== undefined) faults.push(`${name}_FILE: must not be set together with ${name}`);
    else {
      const { content, fault } = read(path);
      if (fault === undefined) environment[name] = content;
      else faults.push(`${name}_FILE: ${fault}`);
    }
  }
  return { environment, faults };
}

function read(path: string): { content?: string; fault?: string } {
  try {
    const content = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    return content === '' ? { fault: 'the file is empty' } : { content };
  } catch (error) {
    return { fault: `the file cannot be read (${(error as NodeJS.ErrnoException).code ?? 'invalid path'})` };
  }
}
