import { createIdentity, type Identity, IdentityError } from '@carrier-identity/client';
import { createKey } from '../support/data/keys';
import { TestService } from '../support/service';

describe('the client', () => {
  let service: TestService;
  let identity: Identity;

  beforeAll(async () => {
    service = await TestService.start();
    const { key } = await createKey(service, ['*']);
    identity = createIdentity({ url: service.url, key });
  });
  afterAll(() => service.close());

  it('creates, reads, changes and deletes a user, and sends the version that the change expects', async () => {
    const created = await identity.users.create({
      user_type: 'carrier',
      carrier_id: 'c1',
      name: 'ada',
      email: 'ada@example.com',
    });
    expect(await identity.users.get(created.user_id)).toMatchObject({ name: 'ada', status: 'invited' });
    const changed = await identity.users.update(created.user_id, { locale: 'de' }, { ifMatch: created.version });
    expect(changed.locale).toBe('de');
    await expect(
      identity.users.update(created.user_id, { locale: 'en' }, { ifMatch: created.version }),
    ).rejects.toThrow(expect.objectContaining({ code: 'user.version_mismatch', status: 412 }));
    expect(await identity.users.delete(created.user_id)).toBeUndefined();
  });

  it('reads a list page by page, or its first page', async () => {
    for (let index = 0; index < 5; index++)
      await service.createUser({ carrier_id: 'c2', locale: index < 2 ? 'fr' : 'de' });
    const names: string[] = [];
    for await (const { name } of identity.users.list({
      carrier_id: 'c2',
      per_page: 2,
      order_by: 'name',
      order_dir: 'asc',
    }))
      names.push(name ?? '');
    expect([names.length, names]).toEqual([5, [...names].sort()]);
    const { items, next_cursor } = await identity.users.list({ carrier_id_in: ['c2', 'c3'], locale: 'fr' });
    expect([items.length, next_cursor]).toEqual([2, null]);
  });

  it('throws problems with code, status and fields, also for codes that it does not know', async () => {
    const error = await identity.users.list({ per_page: 9_999 }).then(
      () => undefined,
      (one: unknown) => one,
    );
    expect(error).toBeInstanceOf(IdentityError);
    expect(error).toMatchObject({ code: 'request.invalid', status: 400, errors: [{ parameter: 'per_page' }] });
  });
});
