import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import { freePort } from '../support/built-program';
import { createKey } from '../support/keys';
import { type TestLogin, TestService } from '../support/service';
import { decode } from '../support/tokens';

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
    ended = await service.loginAs();
    await service.delete(`${BASE_PATH}/auth/session/${ended.session_id}`, ended);
  });
  afterAll(() => service.close());

  describe('the metadata (RFC 8414)', () => {
    it('is where the RFC puts it and below BASE_PATH, and contains only what exists', async () => {
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

  it('jose verifies access tokens with the keys of the metadata', async () => {
    const { jwks_uri } = (await (await fetch(issuer.replace(BASE_PATH, metadataPath + BASE_PATH))).json()) as never;
    const rules = { issuer, audience, typ: 'at+jwt', algorithms: ['ES256'] };
    const { payload } = await jwtVerify(clerk.token, createRemoteJWKSet(new URL(jwks_uri)), rules);
    expect(payload).toMatchObject({ sub: clerk.user_id, roles: ['clerk'] });
  });
});
