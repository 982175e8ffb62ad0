import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
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

/** The modules of `offline.go`. */
const goModules = ['github.com/MicahParks/keyfunc/v3@v3.9.1', 'github.com/golang-jwt/jwt/v5@v5.3.1'];

/** How each example is prepared and run, where its language is installed. */
const programs = [
  { file: 'online.mts', tool: process.execPath, run: 'online.mjs' },
  { file: 'offline.mts', tool: process.execPath, run: 'offline.mjs' },
  { file: 'online.py', tool: 'python3', run: 'online.py' },
  { file: 'Online.java', tool: 'java', prepare: 'javac Online.java', run: 'Online' },
  { file: 'online.go', tool: './online', prepare: 'go build online.go' },
  { file: 'offline.go', tool: './offline', prepare: 'go build -o offline offline.go' },
]
  .filter(({ file }) => file !== 'online.py' || isInstalled('python3', '--version'))
  .filter(({ file }) => file !== 'Online.java' || isInstalled('javac', '--version'))
  .filter(({ file }) => file !== 'online.go' || isInstalled('go', 'version'))
  .filter(({ file }) => file !== 'offline.go' || hasGoModules());
const offline = programs.filter(({ file }) => file.startsWith('offline'));

function isInstalled(command: string, ...args: string[]): boolean {
  return spawnSync(command, args).status === 0;
}

/** Returns whether Go is installed and its modules are in its cache, or can be downloaded. */
function hasGoModules(): boolean {
  return isInstalled('go', 'mod', 'download', ...goModules);
}

/** Responses of an unavailable service, or of another program at its address. */
const faults: [string, RequestListener][] = [
  ['503', (_request, response) => response.writeHead(503, { 'retry-after': '1' }).end('{"code":"service.overloaded"}')],
  ['a page', (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Maintenance')],
  ['no key set', (_request, response) => response.writeHead(200).end('{"keys":1}')],
  ['no response', (request) => request.socket.destroy()],
];

/** Key sets before and after a revocation, tried with the functions of `offline.go`. */
const revocationTest = `package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

func TestRevokedKey(t *testing.T) {
	var revoked atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if revoked.Load() {
			response.Write([]byte(\`{"keys":[]}\`))
		} else {
			response.Write([]byte(os.Getenv("KEYS")))
		}
	}))
	defer server.Close()
	os.Setenv("IDENTITY_URL", server.URL)
	keys, err := fetchKeys()
	if err != nil || check(keys, os.Getenv("TOKEN")) == "inactive" {
		t.Fatal("the key is not known", err)
	}
	revoked.Store(true)
	for until := time.Now().Add(20 * time.Second); check(keys, os.Getenv("TOKEN")) != "inactive"; {
		if time.Now().After(until) {
			t.Fatal("the revoked key is still accepted")
		}
	}
}
`;

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
    if (hasGoModules()) {
      const file = join(directory, 'go.mod');
      const required = goModules.map((name) => `require ${name.replace('@', ' ')}\n`);
      writeFileSync(file, `module examples\n\ngo 1.25.0\n\n${required.join('')}`);
      await run('go', ['mod', 'tidy'], { cwd: directory, env });
    }
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
    if (program.file.startsWith('offline')) expect(lines).toEqual([`${user.user_id} carrier_administrator`]);
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

  it.each(offline)(
    'prints "unavailable" for a valid token while the keys cannot be fetched: $file (J20)',
    async (program) => {
      const { token } = await service.loginAs();
      const [preparer = '', ...args] = program.prepare?.split(' ') ?? [];
      if (preparer !== '') await run(preparer, args, { cwd: directory, env });
      for (const [name, answer] of faults) {
        const server = createServer(answer).listen(0, '127.0.0.1');
        await once(server, 'listening');
        const { port } = server.address() as AddressInfo;
        const options = { cwd: directory, env: { ...env, IDENTITY_URL: `http://127.0.0.1:${port}` } };
        const { stdout } = await run(
          program.tool,
          [...(program.run === undefined ? [] : [program.run]), token],
          options,
        );
        expect([name, stdout.trim()]).toEqual([name, 'unavailable']);
        server.closeAllConnections();
        server.close();
      }
    },
  );

  it.each(offline.filter(({ file }) => file === 'offline.go'))(
    'stops accepting a revoked key with the next refresh of the keys: $file (J20)',
    async () => {
      const folder = join(directory, 'revocation');
      mkdirSync(folder);
      const program = moduleExamples().get('offline.go') ?? '';
      expect(program).toContain('5 * time.Minute');
      writeFileSync(join(folder, 'offline.go'), program.replace('5 * time.Minute', '50 * time.Millisecond'));
      writeFileSync(join(folder, 'offline_test.go'), revocationTest);
      const { token } = await service.loginAs();
      const KEYS = (await service.get('/.well-known/jwks.json')).text;
      await run('go', ['test', './revocation'], { cwd: directory, env: { ...env, KEYS, TOKEN: token } });
    },
  );
});
