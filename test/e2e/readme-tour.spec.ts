import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../support/built-program';
import { createTestDatabase } from '../support/test-database';
import { appSecret } from '../support/service';

const requests = [
  ...['POST /auth/reset/… 204', 'POST /auth/login 200', 'GET /user 200', 'POST /user/create 201'],
  ...['POST /auth/reset/… 204', 'POST /auth/login 200', 'POST /auth/check-token 200'],
  ...['GET /user/list 200', 'PATCH /user/all 200', 'PATCH /user/all 200', 'GET /user/operation/… 200'],
  ...['POST /user/operation/…/undo 202', 'GET /audit/list 200'],
  ...['GET /user/export 200', 'POST /user/import 200', 'POST /user/import 200', 'POST /user/import 200'],
  ...['GET /auth/session/list 200', 'DELETE /auth/session/… 204', 'GET /user 401'],
  ...['POST /role/create 201', 'POST /user/create 201', 'POST /auth/login 200', 'POST /auth/key/create 201'],
  ...['GET /user/list 200', 'POST /auth/introspect 200'],
];

describe('the README', () => {
  it('contains a tour that works as written on another port, shows each response and leaves no file', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'carrier-identity-tour-'));
    const database = await createTestDatabase();
    // Five digits: the line of a mailed link is longer than 76 characters, and the mail breaks it.
    const port = await freePort();
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
        .replace('B=http://localhost:3000', `B=http://localhost:${port}`)
        .replace('$B/auth/reset/...', link);
      const { stdout } = await promisify(execFile)('bash', ['-eo', 'pipefail', '-c', script], {
        cwd: directory,
        env: { PATH: process.env['PATH'] },
      });
      // Each request is printed with its status and its response.
      const [, ...parts] = stdout.split(/^> ([A-Z]+ \/[^?:]*).*: (\d+)$/m);
      const steps = Array.from({ length: parts.length / 3 }, (_, index) => parts.slice(index * 3, index * 3 + 3));
      const requestOf = (path = '') => path.replace(/[\w-]{36,43}/, '…');
      expect(steps.map(([request, status]) => `${requestOf(request)} ${status}`)).toEqual(requests);
      const bodies = steps.flatMap(([, , text = '']) => /^\{\n {2}[^]*?^\}$/m.exec(text)?.[0] ?? []);
      const answers = bodies.map((text) => JSON.parse(text) as Record<string, unknown>);
      const has = (fields: Record<string, unknown>) => expect(answers).toContainEqual(expect.objectContaining(fields));
      has({ name: 'administrator', permissions: ['*'] });
      has({ name: 'ada', status: 'invited' });
      has({ active: true, refreshed: false });
      has({ matched: 1, would_change: 1 });
      has({ matched: 1, changed: 1 });
      has({ kind: 'undo', status: 'done', changed: 1 });
      has({ matched: 1, would_create: 1, skipped_count: 0 });
      has({ kind: 'import', status: 'done', changed: 1, skipped_count: 0 });
      const event = expect.objectContaining({ changes: { attributes: { after: { tier: 'gold' }, before: {} } } });
      has({ items: expect.arrayContaining([event]) });
      has({ status: 401, code: 'auth.token_invalid' });
      has({ name: 'billing_clerk', permissions: ['billing:read', 'user:read'] });
      has({ name: 'linus', roles: ['billing_clerk'] });
      expect(answers.at(-1)).toMatchObject({ active: true, username: 'linus', scope: 'billing:read user:read' });
      // The service itself writes to .data; the tour leaves nothing in the checkout.
      expect(readdirSync(directory)).toEqual(['.data']);
    } finally {
      service.kill('SIGTERM');
      await new Promise((done) => service.once('exit', done));
      await database.drop();
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
