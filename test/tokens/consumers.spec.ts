import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as oauth from 'oauth4webapi';
import { freePort } from '../support/process/built-program';
import { createKey } from '../support/data/keys';
import { moduleExamples } from '../support/contract/module-examples';
import { type TestLogin, TestService } from '../support/service';
import { decode } from '../support/logins/tokens';

const run = promisify(execFile);
const BASE_PATH = '/identity';
const metadataPath = '/.well-known/oauth-authorization-server';
const audience = 'carrier-platform';

describe('standard libraries of modules', () => {
  let service: TestService;
  let issuer: string;
  let clerk: TestLogin & { name: string };
  let ended: TestLogin;
  beforeAll(async () => {
    // The issuer must be the address under which the libraries find the service.
    const PORT = String(await freePort());
    const PUBLIC_URL = `http://127.0.0.1:${PORT}`;
    service = await TestService.start({ PORT, PUBLIC_URL, BASE_PATH });
    issuer = PUBLIC_URL + BASE_PATH;
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('clerk', '{carrier}', '{billing:read}')`,
    );
    clerk = await service.loginAs({ roles: ['clerk'] });
    ended = await service.loginAs({ roles: ['clerk'] });
    await service.delete(`${BASE_PATH}/auth/session/${ended.session_id}`, ended);
  });
  afterAll(() => service.close());

  describe('the metadata (RFC 8414)', () => {
    it('is served at the path of the RFC and below BASE_PATH, and names only existing endpoints', async () => {
      const found = [];
      for (const url of [metadataPath + BASE_PATH, BASE_PATH + metadataPath]) {
        const { statusCode, headers, body } = await service.inject(url);
        expect([statusCode, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
        found.push(JSON.parse(body));
      }
      const [metadata] = found;
      expect(found).toEqual([metadata, metadata]);
      expect(metadata).toEqual({
        issuer,
        jwks_uri: `${issuer}/.well-known/jwks.json`,
        introspection_endpoint: `${issuer}/auth/introspect`,
        introspection_endpoint_auth_methods_supported: ['Bearer', 'client_secret_basic', 'client_secret_post'],
        response_types_supported: [],
        grant_types_supported: [],
        service_documentation: `${issuer}/docs`,
      });
      expect(decode(clerk.token)['iss']).toBe(metadata.issuer);
      for (const url of [metadata.jwks_uri, metadata.service_documentation])
        expect((await fetch(url)).status).toBe(200);
      for (const [url, status] of [
        [metadataPath, 404],
        [`${metadataPath}${BASE_PATH}/`, 404],
        [`${metadataPath}${BASE_PATH}x`, 404],
        [`${metadataPath}/other`, 404],
        ['/.well-known/openid-configuration', 404],
      ] as const)
        expect([url, (await service.inject(url)).statusCode]).toEqual([url, status]);
      expect((await service.inject({ method: 'POST', url: metadataPath + BASE_PATH })).statusCode).toBe(405);
    });

    it('does not depend on headers of the request (J35)', async () => {
      const url = metadataPath + BASE_PATH;
      const forged = {
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
        forwarded: 'host=evil.example',
      };
      const { body } = await service.inject({ url, headers: { host: 'evil.example', ...forged } });
      expect(JSON.parse(body)).toMatchObject({ issuer, jwks_uri: `${issuer}/.well-known/jwks.json` });
      expect(body).not.toContain('evil');
    });
  });

  describe('oauth4webapi', () => {
    const http = { [oauth.allowInsecureRequests]: true };
    const discover = async () => {
      const url = new URL(issuer);
      return oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, { algorithm: 'oauth2', ...http }));
    };
    const asked = (token: string) => new Request('http://billing', { headers: { authorization: `Bearer ${token}` } });

    it('finds the service and verifies tokens, also of a session that has ended (RFC 8414, RFC 9068)', async () => {
      const server = await discover();
      const validate = (token: string) => oauth.validateJwtAccessToken(server, asked(token), audience, http);
      expect(await validate(clerk.token)).toMatchObject({ sub: clerk.user_id, client_id: audience, roles: ['clerk'] });
      expect((await validate(ended.token)).sub).toBe(ended.user_id);
      await expect(validate(`${clerk.token.slice(0, -4)}AAAA`)).rejects.toThrow();
      await expect(oauth.validateJwtAccessToken(server, asked(clerk.token), 'billing', http)).rejects.toThrow();
    });

    it('introspects tokens at the endpoint of the metadata, in each way that the metadata names', async () => {
      const [server, { key, key_id }] = [await discover(), await createKey(service, ['token:introspect'])];
      const ways: Record<string, oauth.ClientAuth> = {
        Bearer: (_server, _client, _body, headers) => headers.set('authorization', `Bearer ${key}`),
        client_secret_basic: oauth.ClientSecretBasic(key),
        client_secret_post: oauth.ClientSecretPost(key),
      };
      expect(server.introspection_endpoint_auth_methods_supported).toEqual(Object.keys(ways));
      const client = { client_id: key_id };
      for (const way of Object.values(ways))
        for (const [{ token }, state] of [
          [clerk, { active: true, username: clerk.name, scope: 'billing:read' }],
          [ended, { active: false }],
        ] as const) {
          const response = await oauth.introspectionRequest(server, client, way, token, http);
          expect(await oauth.processIntrospectionResponse(server, client, response)).toMatchObject(state);
        }
    });
  });

  describe('the programs of docs/modules.md', () => {
    let directory: string;
    // Below node_modules, so that the programs find their packages.
    beforeAll(() => {
      mkdirSync('node_modules/.cache', { recursive: true });
      directory = mkdtempSync('node_modules/.cache/consumers-');
    });
    afterAll(() => rmSync(directory, { recursive: true }));
    const forged = () => `${clerk.token.slice(0, -4)}AAAA`;
    /** Writes a program with more code at its end, and returns its path. */
    const write = (name: string, more: string) => {
      const program =
        moduleExamples('Standard libraries').get(name)?.replaceAll('https://identity.example.net', issuer) ?? '';
      writeFileSync(join(directory, name), program + more);
      return join(directory, name);
    };

    it('verify access tokens with jose, also of a session that has ended', async () => {
      const file = write('jose.mjs', `console.log(JSON.stringify(await caller(process.argv[2])));`);
      const check = async (token: string) => JSON.parse((await run(process.execPath, [file, token])).stdout) as unknown;
      expect(await check(clerk.token)).toMatchObject({ sub: clerk.user_id, client_id: audience, roles: ['clerk'] });
      expect(await check(ended.token)).toMatchObject({ sub: ended.user_id });
      await expect(check(forged())).rejects.toThrow('ERR_JWS_SIGNATURE_VERIFICATION_FAILED');
    });

    it('guard a route with express-oauth2-jwt-bearer, also from a session that has ended', async () => {
      const listen = `app.listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;
      const program = spawn(process.execPath, [write('express.mjs', listen)], { stdio: ['ignore', 'pipe', 'inherit'] });
      const [port] = (await once(program.stdout, 'data')) as [Buffer];
      const send = async (token?: string) => {
        const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const response = await fetch(`http://127.0.0.1:${String(port).trim()}/invoice`, { headers });
        return [response.status, response.ok ? await response.text() : null];
      };
      expect(await send(clerk.token)).toEqual([200, clerk.user_id]);
      expect(await send(ended.token)).toEqual([200, ended.user_id]);
      const other = await service.loginAs();
      for (const token of [undefined, forged(), other.token]) expect(await send(token)).toEqual([401, null]);
      program.kill();
    });
  });
});
