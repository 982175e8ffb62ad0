import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createKey } from '../support/data/keys';
import { moduleExamples } from '../support/contract/module-examples';
import { TestService } from '../support/service';

const run = promisify(execFile);

/** How each program is prepared and run. */
const programs = [
  { command: 'python3 online.py' },
  { prepare: 'javac Online.java', command: 'java Online' },
  { prepare: 'go build online.go', command: './online' },
].filter(({ prepare, command }) => {
  const [tool = ''] = (prepare ?? command).split(' ');
  return spawnSync(tool, [tool === 'go' ? 'version' : '--version']).status === 0;
});

// The first build of a Go program also builds the standard library.
jest.setTimeout(600_000);

/** Runs the programs of docs/modules.md whose languages are installed on the machine. */
describe('the programs of docs/modules.md in other languages', () => {
  let service: TestService;
  let directory: string;
  let env: NodeJS.ProcessEnv;
  const execute = async (command: string) => {
    const [tool = '', ...args] = command.split(' ');
    return (await run(tool, args, { cwd: directory, env })).stdout.trim().split(/\s*\n\s*/);
  };
  beforeAll(async () => {
    service = await TestService.start();
    const { key_id, key } = await createKey(service, ['token:introspect']);
    const { PATH, HOME } = process.env;
    env = { PATH, HOME, IDENTITY_URL: service.url, ISSUER: 'http://localhost:3000', KEY_ID: key_id, KEY: key };
    directory = mkdtempSync(join(tmpdir(), 'carrier-identity-modules-'));
    for (const [name, program] of moduleExamples()) writeFileSync(join(directory, name), program);
    for (const { prepare } of programs) if (prepare !== undefined) await execute(prepare);
  });
  afterAll(async () => {
    await service.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it('print the user of a token, and reject a forged token and a token after logout', async () => {
    for (const { command } of programs) {
      const user = await service.loginAs({ roles: ['carrier_administrator'] });
      const show = async (token: string) => [command, ...(await execute(`${command} ${token}`))];
      const name = expect.stringMatching(`^${user.name}`);
      expect(await show(user.token)).toEqual([command, name, name]);
      const inactive = [command, 'inactive', 'inactive'];
      expect(await show(`${user.token.slice(0, -4)}AAAA`)).toEqual(inactive);
      await service.post('/auth/logout', { token: user.token, body: {} });
      expect(await show(user.token)).toEqual(inactive);
    }
  });
});
