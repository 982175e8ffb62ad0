import { readFileSync } from 'node:fs';

/** Returns the programs of `docs/modules.md` by file name. */
export function moduleExamples(): Map<string, string> {
  const text = readFileSync('docs/modules.md', 'utf8');
  const blocks = text.matchAll(/^```(?:ts|python|java|go)\n(?:\/\/|#) (\S+)\n([^]*?)^```$/gm);
  return new Map([...blocks].map(([, name = '', program = '']) => [name, program]));
}
