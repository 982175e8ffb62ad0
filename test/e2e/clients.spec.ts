import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import {
  allowInsecureRequests,
  type AuthorizationServer,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  introspectionRequest,
  processIntrospectionResponse,
} from 'oauth4webapi';
import { SigningKeyRotation } from '../../src/signing-keys/signing-key-rotation.service';
import { SigningKeysService } from '../../src/signing-keys/signing-keys.service';
import { enrolApp } from '../support/factors';
import { createKey } from '../support/keys';
import { adminEmail, password, type TestLogin, TestService } from '../support/service';

const run = promisify(execFile);
const root = join(__dirname, '../..');
const issuer = 'http://localhost:3000';
const audience = 'carrier-platform';

/** Uses the generated types. Each `@ts-expect-error` is a mistake that they must detect. */
const program = `
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

const [baseUrl = '', login = '', password = '', factorLogin = '', recovery_code = '', oldToken = ''] =
  process.argv.slice(2);
const client = createClient<paths>({ baseUrl });

const session = await client.POST('/auth/login', { body: { login, password } });
if (session.error !== undefined) throw new Error(session.error.code);
const { access_token } = session.data;
client.use({ onRequest: ({ request }) => request.headers.set('Authorization', 'Bearer ' + access_token) as undefined });

const wanted: components['schemas']['CreateUserRequest'] = {
  user_type: 'carrier',
  carrier_id: 'c1',
  name: 'grace',
  email: 'grace@example.com',
};
const created = await client.POST('/user/create', { body: wanted });
if (created.error !== undefined) throw new Error(created.error.code);
const user: components['schemas']['UserResponse'] = created.data;
const again = await client.POST('/user/create', { body: wanted });
if (again.error === undefined) throw new Error('made twice');

const query = { name: 'grace', user_type: 'carrier', count: 'exact' } as const;
const list = await client.GET('/user/list', { params: { query } });
if (list.error !== undefined) throw new Error(list.error.code);
const one = await client.GET('/user/{user_id}', { params: { path: { user_id: user.user_id } } });
const checked = await client.POST('/auth/check-token', { body: { token: access_token } });
const asForm = { 'Content-Type': 'application/x-www-form-urlencoded' };
const asked = await client.POST('/auth/introspect', { body: { token: access_token }, headers: asForm });
const removed = await client.DELETE('/user/{user_id}', { params: { path: { user_id: user.user_id } } });

const { error: required } = await client.POST('/auth/login', { body: { login: factorLogin, password } });
if (required === undefined || !('challenge' in required)) throw new Error('no challenge');
const { challenge = '', factors = [] } = required;
const kinds: ('totp' | 'passkey' | 'recovery_code')[] = factors;
const completed = await client.POST('/auth/second-factor', { body: { challenge, recovery_code } });
const old = createClient<paths>({ baseUrl, headers: { Authorization: 'Bearer ' + oldToken } });
const stale = await old.POST('/role/create', { body: { name: 'late', user_types: ['system'] } });

export function mistakes() {
  // @ts-expect-error there is no such path
  void client.GET('/users', {});
  // @ts-expect-error a required field is missing
  void client.POST('/auth/login', { body: { login } });
  // @ts-expect-error there is no such field
  const change: components['schemas']['ChangeUserRequest'] = { nickname: 'g' };
  // @ts-expect-error the kinds of users are known
  void client.POST('/user/create', { body: { ...wanted, user_type: 'robot' } });
  // @ts-expect-error there is no such field in the response
  void user.password_hash;
  // @ts-expect-error a name is a string
  const name: number = user.name;
  return [name, change];
}

console.log(JSON.stringify({
  created: [created.response.status, user.name, user.status],
  again: [again.response.status, again.error.code],
  list: [list.data.items.map((item) => item.name), list.data.total?.value],
  one: one.data?.email,
  checked: [checked.data?.active, checked.data?.user.name, checked.data?.permissions],
  asked: [asked.data?.active, asked.data?.username],
  removed: removed.response.status,
  required: [required.code, required.expires_in, kinds],
  completed: completed.data?.user.name,
  stale: [stale.error?.code, stale.response.headers.get('WWW-Authenticate')],
}));
`;

describe('third-party client libraries over a socket', () => {
  let service: TestService;
  let url: string;
  beforeAll(async () => {
    service = await TestService.start();
    ({ url } = await service.listen());
  });
  afterAll(() => service.close());

  it('lets oauth4webapi introspect tokens as a resource server (RFC 7662)', async () => {
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('resource_server', '{system}', '{token:introspect}')`,
    );
    const resourceServer = await service.loginAs({ user_type: 'system', roles: ['resource_server'] });
    const user = await service.loginAs({ roles: ['carrier_administrator'] });
    const server: AuthorizationServer = { issuer, introspection_endpoint: `${url}/auth/introspect` };
    const client = { client_id: 'resource-server' };
    const ask = async (by: TestLogin, token: string) => {
      const authenticate: ClientAuth = (_server, _client, _body, headers) =>
        headers.set('authorization', `Bearer ${by.token}`);
      const response = await introspectionRequest(server, client, authenticate, token, {
        [allowInsecureRequests]: true,
        additionalParameters: { token_type_hint: 'access_token' },
      });
      return processIntrospectionResponse(server, client, response);
    };
    expect(await ask(resourceServer, user.token)).toMatchObject({
      ...{ active: true, iss: issuer, aud: audience, sub: user.user_id, username: user.name, token_type: 'Bearer' },
      scope: expect.stringMatching(/^[a-z:_]+( [a-z:_]+)+$/),
    });
    expect(await ask(resourceServer, user.refresh_token)).toEqual({ active: false });
    await service.post('/auth/logout', { token: user.token, body: {} });
    expect(await ask(resourceServer, user.token)).toEqual({ active: false });
    await expect(ask(user, user.token)).rejects.toThrow();
  });

  it('lets oauth4webapi authenticate with the id of an API key and the key (RFC 6749 §2.3.1)', async () => {
    const { key, key_id } = await createKey(service, ['token:introspect']);
    const user = await service.loginAs();
    const server: AuthorizationServer = { issuer, introspection_endpoint: `${url}/auth/introspect` };
    for (const authenticate of [ClientSecretBasic, ClientSecretPost]) {
      const ask = async (client_id: string, client_secret: string) => {
        const options = { [allowInsecureRequests]: true };
        const client = { client_id };
        const response = await introspectionRequest(server, client, authenticate(client_secret), user.token, options);
        return response.status === 200 ? processIntrospectionResponse(server, client, response) : response.status;
      };
      expect(await ask(key_id, key)).toMatchObject({ active: true, sub: user.user_id });
      expect([await ask(user.user_id, key), await ask(key_id, `${key}x`)]).toEqual([401, 401]);
    }
  });

  /** Creates an administrator with a second factor and a session of an old authentication. */
  async function userWithFactor(): Promise<{ name: string; recovery_code: string; token: string }> {
    const login = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const { recovery_codes } = await enrolApp(service, login);
    await service.rows(`update sessions set auth_time = now() - interval '10 minutes' where session_id = $1`, [
      login.session_id,
    ]);
    return { name: login.name, recovery_code: recovery_codes[0] ?? '', token: login.token };
  }

  it('lets openapi-typescript generate types with which an openapi-fetch program compiles and works', async () => {
    const { name, recovery_code, token } = await userWithFactor();
    // Below node_modules, so that the program finds its packages.
    const cache = join(root, 'node_modules', '.cache');
    mkdirSync(cache, { recursive: true });
    const directory = mkdtempSync(join(cache, 'clients-'));
    const node = (...args: string[]) =>
      run(process.execPath, args, { cwd: directory, env: { PATH: process.env['PATH'] } });
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const strict = {
      strict: true,
      skipLibCheck: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
    };
    const compilerOptions = { ...strict, target: 'es2022', module: 'nodenext', types: ['node'] };
    try {
      writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
      await node(
        join(root, 'node_modules/openapi-typescript/bin/cli.js'),
        `${url}/docs/openapi.json`,
        '-o',
        'schema.ts',
      );
      writeFileSync(join(directory, 'program.ts'), program);
      writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }));
      await node(tsc).catch((error: { stdout: string }) => expect(error.stdout).toBe(''));
      const { stdout } = await node('program.js', url, adminEmail, password, name, recovery_code, token);
      expect(JSON.parse(stdout)).toEqual({
        created: [201, 'grace', 'invited'],
        again: [409, 'user.name_taken'],
        list: [['grace'], 1],
        one: 'grace@example.com',
        checked: [true, 'administrator', ['*']],
        asked: [true, 'administrator'],
        removed: 204,
        required: ['auth.second_factor_required', 300, ['totp', 'recovery_code']],
        completed: name,
        stale: ['auth.reauthentication_required', 'Bearer error="insufficient_user_authentication", max_age="300"'],
      });
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  // The last test, because it revokes the keys of all tokens.
  it('lets jose verify access tokens by the JWKS before and after a rotation, and reject all others', async () => {
    // Ends the 30 s cool-down of jose, which is shorter than the publication of a key before it
    // signs.
    const keySet = createRemoteJWKSet(new URL(`${url}/.well-known/jwks.json`), { cooldownDuration: 0 });
    const verify = (token: string, rules: object = {}) =>
      jwtVerify(token, keySet, { issuer, audience, typ: 'at+jwt', algorithms: ['ES256'], ...rules });
    const { token, user_id, session_id } = service.admin;
    const { payload, protectedHeader } = await verify(token);
    expect([payload.sub, payload['sid'], protectedHeader.typ]).toEqual([user_id, session_id, 'at+jwt']);
    await expect(verify(token, { audience: 'others' })).rejects.toThrow('unexpected "aud" claim value');
    await expect(verify(`${token.slice(0, -4)}AAAA`)).rejects.toThrow('signature verification failed');

    await service.app.get(SigningKeyRotation).rotate({ now: true });
    await service.rows(`update signing_keys set signs_from = signs_from - interval '1 minute'`);
    await service.app.get(SigningKeysService).reload();
    const { token: next } = await service.login(adminEmail);
    expect(decodeProtectedHeader(next).kid).not.toBe(protectedHeader.kid);
    expect((await verify(next)).payload.sub).toBe(user_id);
    expect((await verify(token)).payload.sub).toBe(user_id);

    await service.app.get(SigningKeyRotation).rotate({ revoke: true });
    await service.app.get(SigningKeysService).reload();
    const stranger = createRemoteJWKSet(new URL(`${url}/.well-known/jwks.json`));
    const { token: last } = await service.login(adminEmail);
    expect((await jwtVerify(last, stranger, { issuer, audience })).payload.sub).toBe(user_id);
    await expect(jwtVerify(next, stranger, { issuer, audience })).rejects.toThrow('no applicable key found');
  });
});
