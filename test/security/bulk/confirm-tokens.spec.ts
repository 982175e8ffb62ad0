import { randomUUID } from 'node:crypto';
import { ConfirmTokens, type Confirmation, type PreviewedRequest } from '../../../src/users-bulk/confirm-tokens';
import { appSecret, type TestLogin, TestService } from '../../support/service';

const change = { locale: 'fr' };

describe('confirm tokens of bulk changes', () => {
  let service: TestService;
  let token: string;
  let operator: TestLogin;
  let carrierAdministrator: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    for (let index = 0; index < 4; index++) await service.createUser({ carrier_id: 'c1', roles: ['carrier_user'] });
    for (let index = 0; index < 3; index++) await service.createUser({ carrier_id: 'c2', roles: ['carrier_user'] });
    operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    carrierAdministrator = await service.loginAs({ carrier_id: 'c1', roles: ['carrier_administrator'] });
  });
  afterAll(() => service.close());

  const state = () => service.rows('select * from users order by user_id');
  const send = (
    method: string,
    query: string,
    body?: unknown,
    by: { token: string } = service.admin,
    headers: Record<string, string> = {},
  ) => service.send(method, `/user/all?${query}`, { token: by.token, body, headers });
  const preview = async (method: string, query: string, body?: unknown, by?: { token: string }): Promise<string> =>
    (await send(method, `${query}&dry_run=true`, body, by)).body.confirm_token;

  describe('confirm tokens', () => {
    it('rejects a token with one changed character, without effect (B5)', async () => {
      const before = await state();
      const good = await preview('PATCH', 'carrier_id=c1', change);
      const other = (character: string) => (character === 'A' ? 'B' : 'A');
      const altered = [...good].map(
        (character, place) => good.slice(0, place) + other(character) + good.slice(place + 1),
      );
      const missing = [0, 1, good.indexOf('.'), good.length - 1].map(
        (place) => good.slice(0, place) + good.slice(place + 1),
      );
      const odd = ['a', '.', 'a.b', `${good}.`, `${good}A`, `${good}.${good}`, good.toUpperCase(), 'A'.repeat(513)];
      for (const confirm_token of [...altered, ...missing, ...odd]) {
        const answer = await send('PATCH', `carrier_id=c1&confirm_token=${confirm_token}`, change);
        expect([confirm_token, answer.status, answer.body.code]).toEqual([confirm_token, 400, 'request.invalid']);
      }
      expect(await state()).toEqual(before);
    });

    it('rejects a token of another caller, method, filter or body, without effect (B5)', async () => {
      const before = await state();
      const patch = await preview('PATCH', 'carrier_id=c1', change);
      const erase = await preview('DELETE', 'carrier_id=c1');
      const everyone = await preview('PATCH', 'everyone=true', change);
      const nested = await preview('PATCH', 'carrier_id=c1', { attributes: { x: { a: 1 } } });
      for (const [method, query, body, by] of [
        ['PATCH', `carrier_id=c1&confirm_token=${patch}`, change, operator],
        ['PATCH', `carrier_id=c1&confirm_token=${patch}`, change, carrierAdministrator],
        ['DELETE', `carrier_id=c1&confirm_token=${erase}`, undefined, operator],
        ['DELETE', `carrier_id=c1&confirm_token=${patch}`, undefined, service.admin],
        ['PATCH', `carrier_id=c1&confirm_token=${erase}`, change, service.admin],
        ['PATCH', `carrier_id=c2&confirm_token=${patch}`, change, service.admin],
        ['PATCH', `carrier_id_in=c1&confirm_token=${patch}`, change, service.admin],
        ['PATCH', `carrier_id=c1&status=active&confirm_token=${patch}`, change, service.admin],
        ['PATCH', `everyone=true&confirm_token=${patch}`, change, service.admin],
        ['PATCH', `carrier_id=c1&confirm_token=${everyone}`, change, service.admin],
        ['PATCH', `carrier_id=c1&confirm_token=${patch}`, { locale: 'de' }, service.admin],
        ['PATCH', `carrier_id=c1&confirm_token=${patch}`, { locale: null }, service.admin],
        ['PATCH', `carrier_id=c1&confirm_token=${patch}`, { ...change, status: 'disabled' }, service.admin],
        ['PATCH', `carrier_id=c1&confirm_token=${patch}`, { attributes: change }, service.admin],
        ['PATCH', `carrier_id=c1&confirm_token=${nested}`, { attributes: { x: [['a', 1]] } }, service.admin],
      ] as const) {
        const answer = await send(method, query, body, by);
        expect([method, query, answer.status, answer.body.errors?.[0].parameter]).toEqual([
          method,
          query,
          400,
          'confirm_token',
        ]);
      }
      expect(await state()).toEqual(before);
    });

    it('rejects an expired token or one of another secret, and accepts the same token in time (B5)', async () => {
      const before = await state();
      const [confirm_id, , count, digest] = payloadOf(await preview('PATCH', 'carrier_id=c1', change));
      const actor = { actor_type: 'user', user_id: service.admin.user_id } as PreviewedRequest['actor'];
      const mint = (secret: string, confirmation: Partial<Confirmation>) =>
        new ConfirmTokens(secret).mint(
          { confirm_id, expires_at: Date.now() + 60_000, count, digest, ...confirmation },
          { actor, kind: 'change', filters: { carrier_id: 'c1' }, change },
        );
      const confirm = (confirm_token: string) => send('PATCH', `carrier_id=c1&confirm_token=${confirm_token}`, change);
      for (const expires_at of [Date.now() - 1, 0, -1]) {
        const late = await confirm(mint(appSecret, { expires_at }));
        expect([late.status, late.body.code]).toEqual([409, 'bulk.set_changed']);
      }
      for (const wrong of [{ count: count + 1 }, { digest: `${digest}1` }, { confirm_id: randomUUID() }])
        expect([wrong, (await confirm(mint(appSecret, wrong))).body.code]).toEqual([wrong, 'bulk.set_changed']);
      expect((await confirm(mint('another-secret-0123456789-abcdefghijklmnop', {}))).status).toBe(400);
      expect(await state()).toEqual(before);
      const done = await confirm(mint(appSecret, {}));
      expect([done.status, done.body.matched]).toEqual([200, count]);
      await service.post(`/user/operation/${done.body.operation_id}/undo`, { token });
    });

    it('shows in a preview its expiry, and only what the caller may see (B19)', async () => {
      const { body } = await send('DELETE', 'carrier_id=c1&dry_run=true', undefined, carrierAdministrator);
      const until = Date.parse(body.expires_at) - Date.now();
      expect(until).toBeGreaterThan(590_000);
      expect(until).toBeLessThanOrEqual(600_000);
      expect(body.skipped).toEqual([{ user_id: carrierAdministrator.user_id, reason: 'user.self_protected' }]);
    });
  });
});

/** Reads the content of a token, which is signed but not encrypted. */
function payloadOf(confirm_token: string): [string, number, number, string] {
  return JSON.parse(Buffer.from(confirm_token.split('.')[0] ?? '', 'base64url').toString()) as [
    string,
    number,
    number,
    string,
  ];
}
