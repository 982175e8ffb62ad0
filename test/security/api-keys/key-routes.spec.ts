import { randomUUID } from 'node:crypto';
import { document } from '../../support/document';
import { createKey } from '../../support/keys';
import { type TestAnswer, TestService } from '../../support/service';

/** Routes for users only: they require a login and reject every API key. */
const closedToKeys = [
  'DELETE /auth/factor/{factor_id}',
  'DELETE /user/{user_id}/factor/all',
  'DELETE /user/{user_id}/factor/{factor_id}',
  'GET /auth/factor/list',
  'GET /user',
  'PATCH /auth/factor/{factor_id}',
  'POST /auth/email',
  'POST /auth/factor/passkey',
  'POST /auth/factor/passkey/options',
  'POST /auth/factor/recovery-codes',
  'POST /auth/factor/totp',
  'POST /auth/factor/totp/confirm',
  'POST /auth/key/create',
  'POST /auth/key/{key_id}/resume',
  'POST /auth/password',
  'POST /auth/reauthenticate',
  'POST /auth/reauthenticate/options',
  'POST /user/export/link',
  'POST /user/{user_id}/unlock',
];

describe('routes for API keys', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const code = ({ status, body }: TestAnswer) => `${status} ${body?.code ?? ''}`.trim();

  describe('keys on routes for users', () => {
    const closed = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, operation]) =>
        operation['x-permission'] === 'none'
          ? []
          : [{ name: `${method.toUpperCase()} ${path}`, method: method.toUpperCase(), path, operation }],
      ),
    );

    it('rejects a key with all permissions exactly on the routes that the document names (Z2)', async () => {
      const { key } = await createKey(service, ['*']);
      const refused: string[] = [];
      for (const { name, method, path } of closed) {
        // The requests are invalid, so an accepted key changes nothing.
        const answer = await service.send(method, `${path.replace(/\{[^}]+\}/g, randomUUID())}?nothing=1`, {
          token: key,
        });
        if (answer.status === 403) refused.push(name);
        expect([name, code(answer)]).not.toEqual([name, '401 auth.token_invalid']);
      }
      expect(refused.sort()).toEqual(closedToKeys);
      const documented = closed
        .filter(({ operation }) => (operation as { 'x-keys'?: boolean })['x-keys'] === false)
        .map(({ name }) => name);
      expect(documented.sort()).toEqual(closedToKeys);
    });

    it('rejects a key without permissions on all routes (Z2)', async () => {
      const { key } = await createKey(service, ['voip:call']);
      for (const { name, method, path, operation } of closed) {
        const body = 'requestBody' in operation ? {} : undefined;
        const answer = await service.send(method, path.replace(/\{[^}]+\}/g, randomUUID()), { token: key, body });
        expect([name, code(answer)]).toEqual([name, '403 access.denied']);
      }
    });

    it('gives a key no routes for the own user, not even with the id of a user (Z2, Z24)', async () => {
      const { user_id } = await service.loginAs();
      const { key, key_id } = await createKey(service, ['voip:call']);
      await service.rows('update keys set key_id = $1 where key_id = $2', [user_id, key_id]);
      expect(code(await service.get(`/user/${user_id}`, { token: key }))).toBe('403 access.denied');
      expect(code(await service.patch(`/user/${user_id}`, { token: key, body: { locale: 'de' } }))).toBe(
        '403 access.denied',
      );
      expect(code(await service.get('/auth/session/list', { token: key }))).toBe('403 access.denied');
    });
  });
});
