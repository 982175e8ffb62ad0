import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Ended, runBuilt, spawnBuilt } from '../support/process/built-program';
import { createKey, type TestKey } from '../support/data/keys';
import { adminEmail, TestService } from '../support/service';
import { TcpProxy } from '../support/network/tcp-proxy';
import { until } from '../support/until';

const run = promisify(execFile);
const program = resolve(__dirname, '../../dist/src/cli/cli.js');
/** Control and format characters, except for line breaks. */
const controls = /[^\P{C}\n]/u;

describe('the command line', () => {
  let service: TestService;
  let key: TestKey;
  const directory = mkdtempSync(join(tmpdir(), 'shell-'));

  /** Runs a command with the API key; `more` adds to the environment. */
  const identity = (args: string[], more: Record<string, string> = {}): Promise<Ended> =>
    runBuilt('src/cli/cli.js', { IDENTITY_URL: service.url, IDENTITY_KEY: key.key, ...more }, args);
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await identity([...args, '--json']);
    expect([code, stderr]).toEqual([0, '']);
    return JSON.parse(stdout);
  };
  const asAdmin = () => ({ IDENTITY_KEY: service.admin.token });

  beforeAll(async () => {
    service = await TestService.start();
    key = await createKey(service, ['*'], { name: 'operator' });
  });
  afterAll(async () => {
    rmSync(directory, { recursive: true });
    await service.close();
  });

  it('finds a user by id, name or address, and shows a table or JSON', async () => {
    const { user_id, name, email } = await service.createUser({ job_title: 'Dispatcher 17' });
    const found = await identity(['user', 'find', 'dispatcher 17']);
    expect(found).toMatchObject({ code: 0, stderr: '' });
    expect(found.stdout).toMatch(/^NAME +EMAIL +STATUS .*\n/);
    expect(found.stdout).toContain(user_id);
    expect(await json('user', 'find', 'dispatcher 17')).toMatchObject([{ user_id }]);
    for (const text of [user_id, name.toUpperCase(), email])
      expect(await json('user', 'show', text)).toMatchObject({ user_id, name });
  });

  it('changes users and sessions as the API does, with an event of the key', async () => {
    const { user_id, name, session_id } = await service.loginAs();
    expect(await json('user', 'sessions', name)).toMatchObject([{ session_id, active: true }]);
    expect((await identity(['session', 'end', '--user', name])).stdout).toBe(`Ended sessions of ${name}: 1\n`);
    const again = await service.login(name);
    expect((await identity(['session', 'end', again.session_id])).code).toBe(0);
    const { token } = await service.login(name);
    expect((await identity(['user', 'disable', name])).stdout).toBe(
      `${name} is disabled. All sessions of the user ended.\n`,
    );
    expect((await service.get('/user', { token })).status).toBe(401);
    expect(await json('user', 'login-check', name)).toMatchObject({
      can_log_in: false,
      causes: [{ code: 'disabled' }],
    });
    const stale = await identity(['user', 'enable', name, '--if-version', '1']);
    expect([stale.code, stale.stderr]).toEqual([1, expect.stringMatching(/^user.version_mismatch: [^]*--if-version/)]);
    expect((await identity(['user', 'enable', name])).stdout).toBe(`${name} is active.\n`);
    const events = await service.rows(
      `select actor_id, ip from events where target_id = $1 and event_type = 'user.changed'`,
      [user_id],
    );
    expect(events).toEqual(Array(2).fill({ actor_id: key.key_id, ip: '127.0.0.1' }));
  });

  it('blocks a network, and removes exactly the block of a network', async () => {
    const add = ['address-block', 'add', '203.0.113.0/24', '--for', '2h', '--reason', 'spraying'];
    expect((await identity(add)).stdout).toMatch(/^Logins from 203\.0\.113\.0\/24 are rejected until /);
    const [{ expires_at }] = await json('address-block', 'list');
    expect((Date.parse(expires_at) - Date.now()) / 3_600_000).toBeCloseTo(2, 1);
    await identity(['address-block', 'add', '203.0.113.7']);
    const remove = (network: string) => identity(['address-block', 'remove', network]);
    expect((await remove('203.0.113.0/24')).code).toBe(0);
    // A block of a smaller network.
    expect((await remove('203.0.113.0/24')).code).toBe(3);
    expect((await remove('203.0.113.7')).code).toBe(0);
    expect(await json('address-block', 'list')).toEqual([]);
  });

  it('shows and undoes operations', async () => {
    const { name } = await service.createUser({ carrier_id: 'undone', locale: 'de' });
    await service.patch('/user/all?carrier_id=undone', { token: service.admin.token, body: { locale: 'fr' } });
    const [{ operation_id }] = await json('operation', 'list', '--limit', '1');
    expect((await identity(['operation', 'undo', operation_id])).code).toBe(2);
    expect(await json('operation', 'undo', operation_id, '--yes')).toMatchObject({ changed: 1, status: 'done' });
    expect(await json('operation', 'show', operation_id)).toMatchObject({ undone_by: expect.any(String) });
    expect(await json('user', 'show', name)).toMatchObject({ locale: 'de' });
  });

  it('asks before dangerous changes, and refuses them without a terminal and --yes', async () => {
    const { key: other } = await createKey(service, ['user:read'], { name: 'doomed' });
    const works = () => service.get('/user/list', { token: other });
    const refused = await identity(['key', 'revoke', 'doomed']);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('needs --yes')]);
    expect((await works()).status).toBe(200);
    expect((await identity(['key', 'revoke', 'doomed', '--yes'])).code).toBe(0);
    expect((await works()).status).toBe(401);
    const { name } = await service.loginAs();
    expect((await identity(['user', 'secure', name])).code).toBe(2);
    expect((await identity(['user', 'secure', name, '--yes'])).stdout).toMatch(/is secured\. All sessions ended/);
  });

  it('explains which changes reject API keys, and makes them with the access token of a user', async () => {
    const { name } = await service.createUser();
    const { key: old } = await createKey(service, ['user:read'], { name: 'rotated' });
    for (const command of [
      ['user', 'unlock', name],
      ['key', 'rotate', 'rotated'],
    ]) {
      const { code, stderr } = await identity(command);
      expect([code, stderr]).toEqual([4, expect.stringMatching(/Set IDENTITY_KEY to the access token of a user\.\n$/)]);
    }
    expect((await identity(['user', 'unlock', name], asAdmin())).code).toBe(0);
    const rotated = await identity(['key', 'rotate', 'rotated', '--keep-old', '0s'], asAdmin());
    // Nothing but the secret, so that it can be redirected into a file.
    expect(rotated.stdout).toMatch(/^cik_[\w-]+\n$/);
    expect((await service.get('/user/list', { token: rotated.stdout.trim() })).status).toBe(200);
    expect((await service.get('/user/list', { token: old })).status).toBe(401);
  });

  it('lists and revokes suspended API keys by name', async () => {
    const { key_id } = await createKey(service, ['user:read'], { name: 'suspended' });
    await service.rows('update keys set suspended_at = now() where key_id = $1', [key_id]);
    const listed = () => json('key', 'list');
    expect(await listed()).toContainEqual(
      expect.objectContaining({ name: 'suspended', suspended_at: expect.any(String) }),
    );
    expect((await identity(['key', 'revoke', 'suspended', '--yes'])).code).toBe(0);
    expect(await listed()).not.toContainEqual(expect.objectContaining({ key_id }));
  });

  it('does not report success if the caller may not end the sessions of the user', async () => {
    const weak = await createKey(service, ['user:read', 'session:read', 'session:revoke']);
    const { code, stdout, stderr } = await identity(['session', 'end', '--user', adminEmail], {
      IDENTITY_KEY: weak.key,
    });
    expect([code, stdout, stderr]).toEqual([4, '', expect.stringContaining('a role that you may not grant')]);
  });

  it('lists the candidates if a name is not unique', async () => {
    const keys = [
      await createKey(service, ['user:read'], { name: 'twin' }),
      await createKey(service, ['user:read'], { name: 'twin' }),
    ];
    const { code, stdout, stderr } = await identity(['key', 'revoke', 'twin', '--yes']);
    expect([code, stdout]).toEqual([3, '']);
    for (const { key_id } of keys) expect(stderr).toContain(key_id);
  });

  it('ends with one exit code per kind of failure, and prints nothing to stdout', async () => {
    const weak = await createKey(service, ['role:read']);
    const cases: [number, RegExp, string[], Record<string, string>?][] = [
      [1, /^request\.invalid: .*\n {2}network: /, ['address-block', 'add', 'nowhere']],
      [2, /^error: unknown command 'usr'/, ['usr']],
      [2, /^error: missing required argument 'text'/, ['user', 'find']],
      [2, /Expected a whole number from 1 to 10000/, ['user', 'find', 'a', '--limit', '0']],
      [2, /Expected a duration/, ['address-block', 'add', '203.0.113.7', '--for', '9999999d']],
      [2, /^Set IDENTITY_URL/, ['key', 'list'], { IDENTITY_URL: 'identity.example.net' }],
      [2, /^Set IDENTITY_KEY or IDENTITY_KEY_FILE, not both/, ['key', 'list'], { IDENTITY_KEY_FILE: '/x' }],
      [3, /^There is no user nobody\.\n$/, ['user', 'show', 'nobody']],
      [3, /^user\.not_found: /, ['user', 'show', '0192f0a7-11c2-7d4e-8b6f-2a3c4d5e6f70']],
      [4, /^access\.denied: .*user:read is missing\.\n$/, ['user', 'find', 'a'], { IDENTITY_KEY: weak.key }],
      [4, /^auth\.key_invalid: /, ['user', 'find', 'a'], { IDENTITY_KEY: 'cik_unknown' }],
      [5, /^client\.unreachable: /, ['user', 'find', 'a'], { IDENTITY_URL: 'http://unknown.invalid' }],
    ];
    for (const [code, message, args, env] of cases)
      expect(await identity(args, env)).toEqual({ code, stdout: '', stderr: expect.stringMatching(message) });
  });

  it('does not send escape sequences of stored texts to the terminal (O16)', async () => {
    const { user_id, name } = await service.createUser();
    const title = '\x1b]0;owned\x07\x9b2J\u202egnp\u2066 \u{e0041}\r\nNAME';
    await service.rows('update users set job_title = $2 where user_id = $1', [user_id, title]);
    const [shown, found] = await Promise.all([
      identity(['user', 'show', name]),
      identity(['user', 'find', name, '--json']),
    ]);
    expect(shown.stdout).toContain(
      '\\u001b]0;owned\\u0007\\u009b2J\\u202egnp\\u2066 \\udb40\\udc41\\u000d\\u000aNAME\n',
    );
    expect(shown.stdout + found.stdout).not.toMatch(controls);
    expect(JSON.parse(found.stdout)).toMatchObject([{ job_title: title }]);
  });

  it('does not send escape sequences of a response to the terminal (O16)', async () => {
    const detail = '\x1b]0;owned\x07\x9b2J';
    const problem = {
      code: 'access.denied',
      status: 403,
      detail,
      errors: [{ code: 'x', parameter: 'y', detail: `${detail}!` }],
    };
    const server = createServer((_request, response) => response.writeHead(403).end(JSON.stringify(problem)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const { code, stdout, stderr } = await identity(['key', 'list'], { IDENTITY_URL: `http://127.0.0.1:${port}` });
    server.close();
    const shown = '\\u001b]0;owned\\u0007\\u009b2J';
    expect([code, stdout, stderr]).toEqual([4, '', `access.denied: ${shown}\n  y: ${shown}!\n`]);
  });

  it('never prints the key, and accepts no key as an argument (O17)', async () => {
    const file = join(directory, 'key');
    const broken = join(directory, 'broken');
    writeFileSync(file, `${key.key}\n`);
    writeFileSync(broken, `${key.key}\n${key.key}\n`);
    const withFile = { IDENTITY_URL: service.url, IDENTITY_KEY_FILE: file };
    expect(await runBuilt('src/cli/cli.js', withFile, ['key', 'list', '--json'])).toMatchObject({ code: 0 });
    const failures = await Promise.all([
      identity(['key', 'list', '--key', key.key]),
      identity(['key', 'list', '--key-file', broken]),
      identity(['key', 'list', '--key-file', directory]),
      identity(['key', 'list'], { IDENTITY_KEY: `${key.key}\u{1f511}` }),
      identity(['key', 'list'], { IDENTITY_URL: 'http://unknown.invalid' }),
      identity(['key', 'list'], { IDENTITY_URL: service.url.replace('//', `//operator:${key.key}@`) }),
      identity(['key', 'rotate', 'operator']),
    ]);
    expect(failures.map(({ code }) => code)).toEqual([2, 2, 2, 2, 5, 2, 4]);
    for (const { stdout, stderr } of failures) expect(stdout + stderr).not.toContain(key.key.slice(4));
  });

  it.each([
    ['audit tail', ['audit', 'tail', '--type', 'user.created'], 'event_id'],
    ['change tail', ['change', 'tail', '--type', 'user.created'], 'change_id'],
  ])('follows with `%s` over an outage, without gaps and repeats, until Ctrl+C', async (_title, args, id) => {
    const proxy = await TcpProxy.start(service.url);
    const env = { IDENTITY_URL: proxy.url, IDENTITY_KEY: key.key };
    const { child, output } = spawnBuilt('src/cli/cli.js', env, [...args, '--since', '1h', '--json']);
    const lines = () =>
      output()
        .split('\n')
        .filter((line) => line.startsWith('{'));
    const shows = (user_id: string) => until(() => lines().some((line) => line.includes(user_id)));
    await shows((await service.createUser()).user_id);
    await proxy.cut();
    const { user_id } = await service.createUser();
    await until(() => output().includes('Waiting for the service'));
    // Further attempts fail silently.
    await delay(1_500);
    expect(output().split('Waiting for the service')).toHaveLength(2);
    await proxy.restore();
    await shows(user_id);
    await shows((await service.createUser()).user_id);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([0, null]);
    const ids = lines().map((line) => JSON.parse(line)[id]);
    const stored = await service.rows(
      `select event_id from events where event_type = 'user.created' order by occurred_at`,
    );
    expect([...ids].sort()).toEqual(stored.map(({ event_id }) => event_id).sort());
    await proxy.cut();
  });

  it('ends quietly when the reader of its output ends', async () => {
    for (let index = 0; index < 80; index++) await service.createUser({ department: 'Pipes' });
    const env = { PATH: process.env['PATH'], IDENTITY_URL: service.url, IDENTITY_KEY: key.key };
    const pipe = `set -o pipefail; "${process.execPath}" "${program}" user find pipes --limit 500 --json | head -n 1`;
    expect(await run('bash', ['--norc', '-c', pipe], { env })).toEqual({ stdout: '[\n', stderr: '' });
  });

  it('completes commands and options in bash', async () => {
    const { stdout } = await identity(['completion', 'bash']);
    const complete = async (...words: string[]) => {
      const script = `${stdout}
        COMP_WORDS=(identity ${words.join(' ')}); COMP_CWORD=${words.length}; _identity; echo "\${COMPREPLY[@]}"`;
      return (await run('bash', ['--norc', '-c', script])).stdout.trim();
    };
    expect(await complete('u')).toBe('user');
    expect(await complete('user', 's')).toBe('show secure sessions');
    expect(await complete('user', 'secure', 'ada', '--k')).toBe('--keys --key-file');
    expect(await complete('completion', "''")).toBe('bash zsh --help');
  });

  it('loads neither Nest nor a database driver to call the API', async () => {
    const hook =
      "import{Module}from'node:module';process.on('exit',()=>console.error(Object.keys(Module._cache).join()))";
    const { stderr } = await identity(['key', 'list'], { NODE_OPTIONS: `--import=data:text/javascript,${hook}` });
    expect(stderr).toContain('/client/dist/cjs/index.js');
    expect(stderr).not.toMatch(/node_modules\/(@nestjs|typeorm|pg|zod)\//);
  });
});
