import type { Config } from '../../platform/config/config';
import type { NotificationChannel, Notifications } from '../../platform/database/notifications.service';
import { tokenLookups } from '../login/logins.metrics';
import type { ActivityNotes } from './activity-notes.service';
import type { LiveLoginRecord, LiveLoginsRepository } from './live-logins.repository';
import { LiveLoginsService, permissionsOf } from './live-logins.service';

const [session_id, user_id] = ['a session', 'a user'];
const time = new Date(0);
const record = {
  ...{ session_id, user_id, permissions: ['b:c', 'a:b'], may_grant: ['r'], token_grant: null, second_factors: [] },
  ...{ session_created_at: time, session_last_seen_at: time, session_expires_at: time, session_auth_time: time },
  ...{ session_amr: ['pwd'], session_ip: '10.0.0.1', session_user_agent: null, renewable: true },
  ...{ ends_in_ms: 90_000, note_in_ms: 20_000, note_every_ms: 30_000, required_in_ms: null, auth_age_ms: 1_000 },
} as unknown as LiveLoginRecord;

const handlers = new Map<NotificationChannel | 'gap', (payload: string) => void>();
let respond: (row: LiveLoginRecord | null) => void;
let calls: unknown[];
let notifications: Partial<{ -readonly [Name in keyof Notifications]: Notifications[Name] }>;
let logins: LiveLoginsService;

beforeEach(() => {
  jest.useFakeTimers({ now: 0, doNotFake: ['nextTick', 'setImmediate'] });
  calls = [];
  notifications = {
    isCurrent: true,
    on: (channel, handler) => handlers.set(channel, handler),
    onGap: (handler) => handlers.set('gap', handler),
    assertLease: async () => void calls.push('lease'),
  };
  const repository: Partial<LiveLoginsRepository> = {
    find: (...ids) => new Promise((resolve) => (respond = resolve) && calls.push(['find', ...ids])),
  };
  const notes: Partial<ActivityNotes> = {
    writeBefore: async (id) => void calls.push(['write', id]),
    add: (...note) => void calls.push(['note', ...note]),
  };
  logins = new LiveLoginsService(
    ...([repository, notes, notifications, { FRESH_AUTH_SECONDS: 300 } as Config] as unknown as ConstructorParameters<
      typeof LiveLoginsService
    >),
  );
});
afterEach(() => jest.useRealTimers());

/** Reads the login, with a notification during the read. */
async function read(row: LiveLoginRecord | null = record, channel?: NotificationChannel | 'gap', payload = '') {
  const login = logins.find(row?.session_id ?? session_id, user_id);
  await new Promise(setImmediate);
  if (channel !== undefined) handlers.get(channel)?.(payload);
  respond(row);
  return login;
}

const isCached = (id = session_id, user = user_id) => logins.cached(id, user) !== null;

describe('a login that is read', () => {
  it('is cached if neither the user nor a role changes meanwhile', async () => {
    const before = { ...tokenLookups };
    expect(await read()).not.toBeNull();
    expect(isCached()).toBe(true);
    expect(await logins.find(session_id, user_id)).toBe(logins.cached(session_id, user_id));
    const counted = [tokenLookups.database - before.database, tokenLookups.memory - before.memory];
    expect(counted).toEqual([1, 3]);
    // Activity is persisted first: otherwise the session may seem to be expired.
    expect(calls).toEqual(['lease', ['write', session_id], ['find', session_id, user_id]]);
  });

  it.each([
    ['another user changes', 'user_changed', 'another user', true],
    ['the user changes', 'user_changed', user_id, false],
    ['a role changes', 'roles_changed', '', false],
    ['notifications may be lost', 'gap', '', false],
  ] as const)(
    'stays in the cache only if it cannot have changed: %s during or after the read (S16)',
    async (_title, channel, payload, cached) => {
      expect(await read(record, channel, payload)).not.toBeNull();
      expect(isCached()).toBe(cached);
      await read();
      await read({ ...record, session_id: 'another session' });
      expect([isCached(), isCached('another session')]).toEqual([true, true]);
      // Replaces one of the two logins of the user.
      const again = logins.read(session_id, user_id);
      await new Promise(setImmediate);
      respond(record);
      await again;
      handlers.get(channel)?.(payload);
      expect([isCached(), isCached('another session')]).toEqual([cached, cached]);
    },
  );

  it('is not cached if the session ended, for another user, or while notifications may be late', async () => {
    expect(await read(null)).toBeNull();
    await read();
    expect(isCached(session_id, 'another user')).toBe(false);
    notifications.isCurrent = false;
    expect(isCached()).toBe(false);
  });

  it.each([
    [{}, 60_000],
    [{ ends_in_ms: 5_000 }, 5_000],
    [{ required_in_ms: 4_000 }, 4_000],
  ])('with %j is cached for %i ms', async (times, ms) => {
    await read({ ...record, ...times });
    jest.advanceTimersByTime(ms - 1);
    expect(isCached()).toBe(true);
    jest.advanceTimersByTime(1);
    expect(isCached()).toBe(false);
  });

  it('records its activity when it is due, with the time until the session expires', async () => {
    await read();
    calls = [];
    for (const ms of [19_999, 1, 29_999, 1]) {
      jest.advanceTimersByTime(ms);
      isCached();
    }
    const note = ['note', session_id, user_id];
    expect(calls).toEqual([
      [...note, 70_000],
      [...note, 40_000],
    ]);
    await read({ ...record, session_id: 'due', note_in_ms: -1 });
    expect(calls.at(-1)).toEqual(['note', 'due', user_id, 90_000]);
  });

  it('has its session, its permissions in order, and the end of its fresh authentication', async () => {
    const login = await read();
    const times = { created_at: time, last_seen_at: time, expires_at: time, auth_time: time };
    const state = { current: true, ended_at: null, ended_reason: null, ended_by: null };
    expect(login).toMatchObject({
      session: { session_id, user_id, ...times, amr: ['pwd'], ip: '10.0.0.1', active: true, ...state },
      ...{ permissions: ['a:b', 'b:c'], may_grant: ['r'], grant: null, renewable: true, fresh_until: 299_000 },
    });
  });

  it.each([
    [{ permissions: ['a:b', 'x:y'] }, ['a:b'], []],
    [{ audience: ['api'] }, ['a:b', 'b:c'], ['r']],
  ])('with the grant %j has the permissions %j', async (token_grant, permissions, may_grant) => {
    const login = await read({ ...record, token_grant });
    expect(login).toMatchObject({ grant: token_grant, permissions, may_grant });
    const [free, bound] = [false, true].map((must_change_password) => ({ ...record, must_change_password }));
    expect([free, bound].map((user) => permissionsOf({ ...login, user } as never))).toEqual([permissions, []]);
  });

  it('is one of the 20,000 most recent in memory, until the user changes', async () => {
    const ids = Array.from({ length: 20_001 }, (_, index) => `session ${index}`);
    for (const id of ids) {
      const read = logins.read(id, user_id);
      await new Promise(setImmediate);
      respond(record);
      await read;
    }
    const areCached = () => [0, 1, 20_000].map((index) => logins.cached(ids[index] ?? '', user_id) !== null);
    expect(areCached()).toEqual([false, true, true]);
    handlers.get('user_changed')?.(user_id);
    expect(areCached()).toEqual([false, false, false]);
  });
});
