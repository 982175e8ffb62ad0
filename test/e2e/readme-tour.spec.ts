import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../support/built-program';
import { createTestDatabase } from '../support/test-database';
import { appSecret } from '../support/service';

describe('the README', () => {
  it('contains a tour that works as written', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'carrier-identity-tour-'));
    const database = await createTestDatabase();
    // Four digits, so that mailed links are as long as those in the README.
    const port = await freePort(4_000 + (process.pid % 50) * 100);
    const env = { PATH: process.env['PATH'], PORT: String(port), DATABASE_URL: database.url, APP_SECRET: appSecret };
    const service = spawn(process.execPath, [resolve('dist/src/main.js')], { cwd: directory, env });
    try {
      let output = '';
      const link = await new Promise<string>((done, fail) => {
        service.once('exit', () => fail(new Error(output)));
        service.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
        service.stdout.on('data', (chunk: Buffer) => {
          output += chunk.toString();
          const found = /http:\/\/localhost:\d+\/auth\/reset\/[A-Za-z0-9_-]{43}/.exec(output);
          if (found !== null) done(found[0]);
        });
      });
      const blocks = [...readFileSync('README.md', 'utf8').matchAll(/<!-- tour -->\n```sh\n([\s\S]*?)```/g)].map(
        ([, block]) => block,
      );
      expect(blocks).toHaveLength(7);
      const script = blocks
        .join('\n')
        .replace('http://localhost:3000/auth/reset/...', link)
        .replaceAll('localhost:3000', `localhost:${port}`);
      const { stdout } = await promisify(execFile)('bash', ['-eo', 'pipefail', '-c', script], {
        cwd: directory,
        env: { PATH: process.env['PATH'] },
      });
      const answers = [...stdout.matchAll(/\{"(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*\}/g)].map(
        ([text]) => JSON.parse(text) as Record<string, unknown>,
      );
      const has = (fields: Record<string, unknown>) => expect(answers).toContainEqual(expect.objectContaining(fields));
      has({ name: 'administrator', permissions: ['*'] });
      has({ name: 'ada', status: 'invited' });
      has({ active: true, refreshed: false });
      has({ matched: 1, would_change: 1 });
      has({ matched: 1, changed: 1 });
      has({ kind: 'undo', status: 'done', changed: 1 });
      has({ matched: 1, would_create: 1, skipped_count: 0 });
      has({ kind: 'import', status: 'done', changed: 1, skipped_count: 0 });
      expect(stdout).toContain('"changes":{"attributes":{"after":{"tier":"gold"},"before":{}}}');
      has({ status: 401, code: 'auth.token_invalid' });
      has({ name: 'billing_clerk', permissions: ['billing:read', 'user:read'] });
      expect(answers.at(-1)).toMatchObject({ active: true, username: 'administrator', scope: '*' });
    } finally {
      service.kill('SIGTERM');
      await new Promise((done) => service.once('exit', done));
      await database.drop();
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
