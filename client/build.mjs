// Compiles the package twice: to ES modules and to CommonJS, each with its declarations.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';

process.chdir(import.meta.dirname);
const tsc = createRequire(import.meta.url)
  .resolve('tsc7/package.json')
  .replace('package.json', 'bin/tsc');
fs.rmSync('dist', { recursive: true, force: true });
for (const project of ['tsconfig.json', 'tsconfig.cjs.json']) {
  const { status } = spawnSync(process.execPath, [tsc, '-p', project], { stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(1);
}
fs.writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n');
