import { createKey } from '../../support/keys';
import { addManyUsers } from '../../support/many-users';
import { probing } from '../../support/probing';
import { password, TestService } from '../../support/service';

/** Conflicts per carrier and hour that the service reports. */
const limit = 100;
const taken = 120;
const permissions = ['user:import', 'user:create', 'user:update', 'user:delete', 'key:manage'];

describe('probing for names and addresses of other carriers by several callers', () => {
  let service: TestService;
  let carriers = 0;
  /** the carrier of the test: conflicts are counted per carrier */
  let carrier: string;
  beforeAll(async () => {
    service = await TestService.start();
    await addManyUsers(service, taken, 'c2', 'taken');
    await service.rows(`insert into roles (name, user_types, permissions) values ('prober', '{carrier,system}', $1)`, [
      permissions,
    ]);
  });
  afterAll(() => service.close());
  beforeEach(() => (carrier = `carrier-${++carriers}`));

  const { login, row, takenRows, dryRun, create } = probing(
    () => service,
    () => carrier,
  );
  it('counts the conflicts of all users and API keys of a carrier together (B33)', async () => {
    const users = [await login(), await login(), await login()];
    const { key } = await createKey(service, ['user:create', 'user:import'], {}, users[0]);
    const callers = [...users, { token: key }];
    for (const [i, caller] of callers.entries()) await dryRun(caller, takenRows(24, 1 + i * 24));
    const codes = [];
    for (const caller of [...callers, users[0]!]) codes.push((await create(caller, row('taken-97'))).body.code);
    expect(codes).toEqual([...Array<string>(4).fill('user.name_taken'), 'request.rate_limited']);
    for (const caller of callers) {
      expect((await create(caller, row('free-of-all'))).status).toBe(429);
      expect((await dryRun(caller, [row('taken-1')])).status).toBe(429);
    }
    expect(
      (await create(await login({ carrier_id: 'another' }), row('taken-1', { carrier_id: 'another' }))).status,
    ).toBe(409);
  });

  it('counts the conflicts of a System User together with their API keys, and of no other user (B33)', async () => {
    const scope = { user_type: 'system', carrier_scope: [carrier], roles: ['administrator'] };
    const [actor, other] = [await login(scope), await login(scope)];
    const { key } = await createKey(service, ['user:create'], { carrier_scope: [carrier] }, actor);
    await dryRun(actor, takenRows(limit));
    for (const token of [actor.token, key]) expect((await create({ token }, row('taken-1'))).status).toBe(429);
    expect((await create(other, row('taken-1'))).status).toBe(409);
  });

  it('counts the conflicts of sessions, confirmations and links that undo changes separately (B33, R30)', async () => {
    const scope = { user_type: 'system', carrier_scope: [carrier], roles: ['administrator'] };
    const user = await login(scope);
    const own = { current_password: password, new_password: 'a thief knows this phrase' };
    expect((await service.post('/auth/password', { token: user.token, body: own })).status).toBe(204);
    const undo = (await service.mailbox.take(user.email, /This was not me/)).token;
    const email = `${carrier}@confirmed.example`;
    const proposal = { email, current_password: own.new_password };
    expect((await service.post('/auth/email', { token: user.token, body: proposal })).status).toBe(202);
    const confirmation = (await service.mailbox.take(email, /\/auth\/email\//)).token;
    await dryRun(user, takenRows(limit));
    expect((await create(user, row('taken-1'))).status).toBe(429);
    await service.createUser({ email });
    const confirm = () => service.post(`/auth/email/${confirmation}`);
    for (let conflict = 0; conflict < limit; conflict++) expect((await confirm()).body.code).toBe('user.email_taken');
    expect((await confirm()).status).toBe(429);
    expect((await service.post(`/auth/reset/${undo}`, { body: { password } })).status).toBe(204);
  });
});
