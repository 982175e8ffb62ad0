import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hash as hashBcrypt } from '@node-rs/bcrypt';
import { buildBreachedFile } from '../../../src/credentials/policy/breached-build';
import { BreachedFile } from '../../../src/credentials/policy/breached-file';
import { BreachedPasswords } from '../../../src/credentials/policy/breached-passwords';
import { loadConfig } from '../../../src/config/config';
import { sha1, writeRanges, writeSorted } from '../../support/breached';
import { runBuilt } from '../../support/built-program';
import { appSecret, password, TestService } from '../../support/service';
import { createTestDatabase } from '../../support/test-database';

const breached = ['nine purple lanterns', 'пароль из утечки', '🦊 stolen by foxes 🦊'];
const rare = 'a rarely stolen phrase';
const counts = { ...Object.fromEntries(breached.map((secret) => [secret, 12])), [rare]: 3, password1234567: 70_000 };
const hashOf = (secret: string) => createHash('sha1').update(secret).digest();

describe('breached passwords', () => {
  let directory: string;
  let ranges: string;
  let file: string;
  const at = (name: string) => join(directory, name);
  const cli = (...args: string[]) => runBuilt('src/cli/cli.js', {}, ['breached-passwords', ...args]);
  const build = (download: string, ...args: string[]) => cli('build', download, ...args);

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'carrier-identity-breached-'));
    [ranges, file] = [at('ranges'), at('ranges.breached')];
    writeRanges(ranges, counts);
    const { code, stdout, stderr } = await build(ranges);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`${file} has 5 entries`)]);
    expect(stdout).toContain('The download is incomplete: 1048571 of 1048576 prefixes are missing, such as 00000, ');
    expect(stderr).not.toContain('Error');
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  /** Returns which of the known passwords a file has. */
  async function entriesOf(path: string): Promise<string[]> {
    const opened = await BreachedFile.open(path, Infinity);
    const found: string[] = [];
    for (const secret of Object.keys(counts)) if (await opened.has(hashOf(secret))) found.push(secret);
    await opened.close();
    return found;
  }

  describe('in the service', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await TestService.start({ BREACHED_PASSWORDS_FILE: file });
    });
    afterAll(() => service.close());

    it('rejects breached passwords, and accepts passwords that resemble them (P16)', async () => {
      const { token } = await service.loginAs();
      const change = (new_password: string, current_password = password) =>
        service.post('/auth/password', { token, body: { current_password, new_password } });
      for (const secret of [...breached, rare]) {
        const { status, body } = await change(secret);
        expect([secret, status, body.errors]).toEqual([
          secret,
          400,
          [{ pointer: '/new_password', code: 'password.breached', detail: 'is in a list of stolen passwords' }],
        ]);
      }
      expect((await change('password1234567')).body.errors[0].code).toBe('password.breached');
      expect((await change(`${breached[0]}!`)).status).toBe(204);
      expect((await change(breached[0]?.toUpperCase() ?? '', `${breached[0]}!`)).status).toBe(204);
    });

    it('rejects too short, common and personal passwords for these reasons first (P16)', async () => {
      const fields = { user_type: 'carrier', carrier_id: 'c1', name: 'lantern', email: 'lantern@example.com' };
      const body = { ...fields, password: breached[0] };
      const { status, body: problem } = await service.post('/user/create', { token: service.admin.token, body });
      expect([status, problem.errors[0].code]).toEqual([400, 'password.contains_identity']);
    });
  });

  describe('in a file that is damaged while the service runs', () => {
    let service: TestService;
    // The last filter of the file belongs to this password.
    const secret = Object.keys(counts).sort((one, other) => (sha1(one) < sha1(other) ? 1 : -1))[0] ?? '';
    const intact = () => readFileSync(file);
    beforeAll(async () => {
      writeFileSync(at('running'), intact());
      service = await TestService.start({ BREACHED_PASSWORDS_FILE: at('running'), LOG_LEVEL: 'silent' });
    });
    afterAll(() => service.close());
    beforeEach(() => flip(at('running'), intact().length - 30));
    afterEach(() => writeFileSync(at('running'), intact()));

    const enter = async (login: string, entered: string) => {
      const { status, body } = await service.post('/auth/login', { body: { login, password: entered } });
      return [status, body.code ?? body.user.must_change_password];
    };

    it.each([
      ['an imported password', false],
      ['a password with an outdated hash', true],
    ])('logs in with %s, and checks it at the next login (P16)', async (_title, policy_checked) => {
      const { name, user_id } = await service.createUser();
      await service.rows('update credentials set password_hash = $2, policy_checked = $3 where user_id = $1', [
        ...[user_id, await hashBcrypt(secret, { cost: 4 }), policy_checked],
      ]);
      for (let logins = 0; logins < 2; logins++) {
        expect(await enter(name, secret)).toEqual([200, false]);
        expect(await enter(name, `${secret}!`)).toEqual([401, 'auth.invalid_credentials']);
      }
      writeFileSync(at('running'), intact());
      expect(await enter(name, secret)).toEqual([200, true]);
    });

    it('sets no password that cannot be checked (P16)', async () => {
      const { token, name } = await service.loginAs();
      const body = { current_password: password, new_password: secret };
      const { status, body: problem } = await service.post('/auth/password', { token, body });
      expect([status, problem.code]).toEqual([500, 'service.internal_error']);
      expect(await enter(name, password)).toEqual([200, false]);
    });
  });

  it('builds the same file from one sorted file as from a directory (P16)', async () => {
    writeSorted(at('sorted.txt'), counts);
    expect(await build(at('sorted.txt'), '--output', at('sorted'))).toMatchObject({ code: 0 });
    expect(readFileSync(at('sorted')).equals(readFileSync(file))).toBe(true);
    expect(await entriesOf(file)).toEqual(Object.keys(counts));
  });

  it('leaves out passwords that were found less often than --min-count (P16)', async () => {
    const { stdout } = await build(ranges, '--min-count', '12', '--output', at('frequent'));
    expect(stdout).toContain('has 4 entries');
    expect((await entriesOf(at('frequent'))).includes(rare)).toBe(false);
    expect(await cli('check', at('frequent'))).toMatchObject({
      code: 0,
      stdout: `${at('frequent')} is intact. It has 4 entries, found at least 12 times each.\n`,
    });
    const ends = await Promise.all(['0', '1.5'].map((count) => build(ranges, `--min-count=${count}`)));
    expect(ends.map(({ code, stdout }) => [code, stdout])).toEqual([
      [1, ''],
      [1, ''],
    ]);
  });

  it('stops at a malformed line, names it, and keeps the existing file (P16)', async () => {
    const line = `${sha1('a').slice(5)}:1`;
    const malformed: [string, string, RegExp][] = [
      ['12345.txt', `${line}\n${line.slice(1)}\n`, /12345\.txt, line 2: expected 35 hexadecimal digits/],
      ['12345.txt', `${line}\r\n\r\n${line}`, /line 2: expected/],
      ['12345.txt', line.replace(':1', ':'), /line 1: expected/],
      ['12345.txt', line.replace(':1', ':1x'), /line 1: expected/],
      ['12345.txt', line.replace(':1', ':-1'), /line 1: expected/],
      ['12345.txt', `G${line.slice(1)}`, /line 1: expected/],
      ['12345.txt', `${line}\n${'0'.repeat(3_000_000)}`, /line 2: expected/],
      ['abcde', '<html>\n<body>', /abcde, line 1: expected/],
      ['whole', `${sha1('a')}:1\n${sha1('b')}:1\n`.split('\n').sort().reverse().join('\n').trim(), /not in the order/],
      ['other', '', /contains no entries/],
    ];
    mkdirSync(at('bad'));
    for (const [name, text, message] of malformed) {
      writeFileSync(at(`bad/${name}`), text);
      copyFileSync(file, at('target'));
      const download = name === 'whole' ? at('bad/whole') : at('bad');
      await expect(buildBreachedFile(download, at('target'), 1, () => undefined)).rejects.toThrow(message);
      expect(readFileSync(at('target')).equals(readFileSync(file))).toBe(true);
      rmSync(at(`bad/${name}`));
    }
    expect(readdirSync(directory).filter((name) => name.includes('partial'))).toEqual([]);
  });

  it('does not start with a missing or damaged file, and names the setting (P16)', async () => {
    const { length } = readFileSync(file);
    const database = await createTestDatabase();
    const environment = { DATABASE_URL: database.url, APP_SECRET: appSecret, LOG_LEVEL: 'silent' };
    const config = loadConfig(environment);
    const damage: [string, (path: string) => void][] = [
      ['missing', (path) => rmSync(path)],
      ['empty', (path) => truncateSync(path, 0)],
      ['header', (path) => flip(path, 24)],
      ['index', (path) => flip(path, 4_000_000)],
      ['filter', (path) => flip(path, length - 30)],
      ['shorter', (path) => truncateSync(path, length - 1)],
      ['longer', (path) => writeFileSync(path, 'x', { flag: 'a' })],
      ['other', (path) => writeFileSync(path, `${sha1('a')}:1\n`.repeat(120_000))],
      ['directory', (path) => [rmSync(path), mkdirSync(path)]],
    ];
    for (const [name, change] of damage) {
      copyFileSync(file, at(name));
      change(at(name));
      const fault = `The configuration is invalid:\n  - BREACHED_PASSWORDS_FILE: the file `;
      await expect(
        new BreachedPasswords({ ...config, BREACHED_PASSWORDS_FILE: at(name) }).onModuleInit(),
      ).rejects.toThrow(fault);
    }
    const end = await runBuilt('src/main.js', { ...environment, BREACHED_PASSWORDS_FILE: at('filter') });
    expect([end.code, end.stdout]).toEqual([1, '']);
    expect(end.stderr).toContain('BREACHED_PASSWORDS_FILE: the file is damaged');
    await database.drop();
    const { code, stderr } = await cli('check', at('filter'));
    expect([code, stderr]).toEqual([1, expect.stringContaining('the file is damaged')]);
  });

  it('notices damage of a filter that the start did not check (P16)', async () => {
    copyFileSync(file, at('later'));
    flip(at('later'), readFileSync(file).length - 30);
    const opened = await BreachedFile.open(at('later'), 0);
    const found = await Promise.allSettled(Object.keys(counts).map((secret) => opened.has(hashOf(secret))));
    await opened.close();
    expect(found.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  });
});

/** Changes one byte. */
function flip(path: string, position: number): void {
  const bytes = readFileSync(path);
  bytes[position] = (bytes[position] ?? 0) ^ 0x10;
  writeFileSync(path, bytes);
}
