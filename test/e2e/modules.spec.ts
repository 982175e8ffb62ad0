import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createKey } from '../support/keys';
import { moduleExamples } from '../support/module-examples';
import { TestService } from '../support/service';

const run = promisify(execFile);
const root = join(__dirname, '../..');
const tsc = join(root, 'node_modules/typescript/bin/tsc');
const typescript = [
  '--ignoreConfig',
  '--module',
  'nodenext',
  '--target',
  'es2022',
  '--types',
  'node',
  '--skipLibCheck',
  '--strict',
];

/** How each example is prepared and run, where its language is installed. */
const programs = [
  { file: 'online.mts', tool: process.execPath, run: 'online.mjs' },
  { file: 'offline.mts', tool: process.execPath, run: 'offline.mjs' },
  { file: 'online.py', tool: 'python3', run: 'online.py' },
  { file: 'Online.java', tool: 'java', prepare: 'javac Online.java', run: 'Online' },
  { file: 'online.go', tool: './online', prepare: 'go build online.go' },
]
  .filter(({ file }) => file !== 'online.py' || isInstalled('python3', '--version'))
  .filter(({ file }) => file !== 'Online.java' || isInstalled('javac', '--version'))
  .filter(({ file }) => file !== 'online.go' || isInstalled('go', 'version'));

function isInstalled(command: string, ...args: string[]): boolean {
  return spawnSync(command, args).status === 0;
}

// The first build of a Go program also builds the standard library.
jest.setTimeout(180_000);

describe('the program in docs/modules.md', () => {
  let service: TestService;
  let directory: string;
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    service = await TestService.start();
    const { url } = await service.listen();
    const { key_id, key } = await createKey(service, ['token:introspect']);
    const { PATH, HOME } = process.env;
    env = { PATH, HOME, IDENTITY_URL: url, ISSUER: 'http://localhost:3000', KEY_ID: key_id, KEY: key };
    // Below node_modules, so that the programs find their packages.
    const cache = join(root, 'node_modules', '.cache');
    mkdirSync(cache, { recursive: true });
    directory = mkdtempSync(join(cache, 'modules-'));
    for (const [name, program] of moduleExamples()) writeFileSync(join(directory, name), program);
    await run(process.execPath, [tsc, ...typescript, 'online.mts', 'offline.mts'], { cwd: directory });
  });
  afterAll(async () => {
    await service.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it('exists in four languages, online and offline', () => {
    expect([...moduleExamples().keys()].sort()).toEqual([
      'Offline.java',
      'Online.java',
      'offline.go',
      'offline.mts',
      'offline.py',
      'online.go',
      'online.mts',
      'online.py',
    ]);
  });

  it.each(programs)('prints the user of a token, and rejects the token after logout: $file', async (program) => {
    const options = { cwd: directory, env };
    const [preparer = '', ...args] = program.prepare?.split(' ') ?? [];
    if (preparer !== '') await run(preparer, args, options);
    const show = async (token: string) => {
      const { stdout } = await run(program.tool, [...(program.run === undefined ? [] : [program.run]), token], options);
      return stdout
        .trim()
        .split('\n')
        .map((line) => line.trim());
    };
    const user = await service.loginAs({ roles: ['carrier_administrator'] });
    const lines = await show(user.token);
    if (program.file === 'offline.mts') expect(lines).toEqual([`${user.user_id} carrier_administrator`]);
    else {
      expect(lines).toEqual([
        expect.stringMatching(`^${user.name} .*user:read`),
        expect.stringMatching(`^${user.name}`),
      ]);
      await service.post('/auth/logout', { token: user.token, body: {} });
      expect(await show(user.token)).toEqual(['inactive', 'inactive']);
    }
    expect(new Set(await show(`${user.token.slice(0, -4)}AAAA`))).toEqual(new Set(['inactive']));
  });
});
