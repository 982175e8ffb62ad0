import { readFileSync } from 'node:fs';

/** Returns the programs of a section of `docs/modules.md` by file name. */
export function moduleExamples(section: 'Code' | 'Standard libraries' = 'Code'): Map<string, string> {
  const [, text = ''] = readFileSync('docs/modules.md', 'utf8').split(`\n## ${section}\n`);
  const [own = ''] = text.split('\n## ');
  const blocks = own.matchAll(/^```(?:js|ts|python|java|go)\n(?:\/\/|#) (\S+)\n([^]*?)^```$/gm);
  return new Map([...blocks].map(([, name = '', program = '']) => [name, program]));
}
