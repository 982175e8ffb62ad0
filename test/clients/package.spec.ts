import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';

const run = promisify(execFile);
const root = resolve(__dirname, '../..');
const client = join(root, 'client');

/** Mistakes that the types must detect, and values of later versions that they must accept. */
const program = `
import { createIdentity, IdentityError, type User, verifier } from '@carrier-identity/client';
import '@carrier-identity/client/express';
import '@carrier-identity/client/fastify';
import '@carrier-identity/client/nest';
import { fakeIdentity } from '@carrier-identity/client/testing';

const identity = createIdentity({ url: 'http://127.0.0.1:1', key: 'cik_x', retries: 0 });

export async function correct(): Promise<string[]> {
  for await (const user of identity.users.list({ carrier_id_in: ['a', 'b'], 'attributes.tier': 'gold' })) {
    const name: string | undefined = user.name;
    if (name) return [name];
  }
  const user: User = await identity.users.get('0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e');
  const later: User['status'] = 'archived';
  if (user.status === 'active' || user.status === later) await identity.users.update(user.user_id, { locale: 'de' });
  await identity.users.updateAll({ status: 'disabled' }, { carrier_id: 'a', dry_run: true });
  const file: Response = await identity.users.export({ format: 'ndjson' });
  return [file.headers.get('changes-cursor') ?? '', ...(await identity.roles.list()).items.map(({ name }) => name)];
}

export function mistakes() {
  // @ts-expect-error there is no such noun
  void identity.people;
  // @ts-expect-error an id is missing
  void identity.users.get();
  // @ts-expect-error there is no such filter
  void identity.users.list({ carrier: 'a' });
  // @ts-expect-error a required field is missing
  void identity.users.create({ user_type: 'system' });
  // @ts-expect-error there is no such mode
  verifier({ url: '', mode: 'online' });
}

const fake = await fakeIdentity();
const tokens = verifier({ url: fake.url, mode: 'check' });
const { can } = await tokens.verify(await fake.token({ permissions: ['billing:read'] }));
await fake.close();
const error = await identity.users.me().catch((error: unknown) => error);
console.log(can('billing:read'), error instanceof IdentityError && error.code);
`;

describe('the package', () => {
  let directory: string;
  beforeAll(() => {
    // Below node_modules, so that the programs find the package.
    const cache = join(root, 'node_modules', '.cache');
    mkdirSync(cache, { recursive: true });
    directory = mkdtempSync(join(cache, 'client-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it('passes publint and "are the types wrong"', async () => {
    await run('npm', ['run', '-s', 'check'], { cwd: client }).catch((error: { stdout: string; stderr: string }) => {
      throw new Error(error.stdout + error.stderr);
    });
  });

  it('compiles and runs as ES modules and as CommonJS, under strict settings', async () => {
    const checks = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
    const files = ['module.mts', 'common.cts'];
    writeFileSync(join(directory, 'module.mts'), program);
    const [imports = '', statements = ''] = program.split(/(?<=;)\n\n(?=const identity)/);
    const [functions = '', main = ''] = statements.split(/(?=const fake)/);
    writeFileSync(join(directory, 'common.cts'), `${imports}\n${functions}\nvoid (async () => {\n${main}\n})();\n`);
    const compilerOptions = { ...checks, skipLibCheck: false, target: 'es2022', module: 'node20', types: ['node'] };
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    await run(process.execPath, [join(root, 'node_modules/tsc7/bin/tsc')], { cwd: directory }).catch(
      (error: { stdout: string }) => {
        throw new Error(error.stdout);
      },
    );
    for (const file of ['module.mjs', 'common.cjs']) {
      const { stdout } = await run(process.execPath, [join(directory, file)]);
      expect([file, stdout.trim()]).toEqual([file, 'true client.unreachable']);
    }
  });

  it('has at most 15 kB of compressed code', () => {
    const seen = new Set<string>();
    const read = (file: string): string => {
      if (seen.has(file)) return '';
      seen.add(file);
      const text = readFileSync(join(client, 'dist/esm', file), 'utf8');
      const imports = [...text.matchAll(/from '\.\/([\w-]+\.js)'/g)].map(([, name = '']) => name);
      return text + imports.map(read).join('');
    };
    const bytes = gzipSync(read('index.js')).length;
    expect(bytes).toBeGreaterThan(1_000);
    expect(bytes).toBeLessThanOrEqual(15_000);
  });
});
