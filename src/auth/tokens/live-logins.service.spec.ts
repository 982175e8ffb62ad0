import type { Config } from '../../platform/config/config';
import type { NotificationChannel, Notifications } from '../../platform/database/notifications.service';
import type { ActivityNotes } from './activity-notes.service';
import type { LiveLoginRecord, LiveLoginsRepository } from './live-logins.repository';
import { LiveLoginsService } from './live-logins.service';

const [session_id, user_id] = ['a session', 'a user'];
const record = {
  ...{ session_id, user_id, permissions: [], may_grant: [], token_grant: null, second_factors: [] },
  ...{ session_user_agent: null },
  ...{ ends_in_ms: 60_000, note_in_ms: 60_000, note_every_ms: 60_000, required_in_ms: null, auth_age_ms: 0 },
} as unknown as LiveLoginRecord;

describe('a login that is read', () => {
  const handlers = new Map<NotificationChannel | 'gap', (payload: string) => void>();
  let respond: (row: LiveLoginRecord) => void;
  let logins: LiveLoginsService;
  beforeEach(() => {
    const notifications: Partial<Notifications> = {
      isCurrent: true,
      on: (channel, handler) => handlers.set(channel, handler),
      onGap: (handler) => handlers.set('gap', handler),
      assertLease: () => Promise.resolve(),
    };
    const repository: Partial<LiveLoginsRepository> = { find: () => new Promise((resolve) => (respond = resolve)) };
    const notes: Partial<ActivityNotes> = { writeBefore: () => Promise.resolve(), add: () => undefined };
    logins = new LiveLoginsService(
      repository as LiveLoginsRepository,
      notes as ActivityNotes,
      notifications as Notifications,
      { FRESH_AUTH_SECONDS: 300 } as Config,
    );
  });

  /** Returns whether the login is in memory after a notification during its read. */
  async function cachedAfter(channel?: NotificationChannel | 'gap', payload = ''): Promise<boolean> {
    const read = logins.read(session_id, user_id);
    await new Promise(setImmediate);
    if (channel !== undefined) handlers.get(channel)?.(payload);
    respond(record);
    expect(await read).not.toBeNull();
    return logins.cached(session_id, user_id) !== null;
  }

  it('is cached if neither the user nor a role changes meanwhile', async () => {
    expect(await cachedAfter()).toBe(true);
    expect(await cachedAfter('user_changed', 'another user')).toBe(true);
  });

  it.each([
    ['the user changes', 'user_changed', user_id],
    ['a role changes', 'roles_changed', ''],
    ['notifications may be lost', 'gap', ''],
  ] as const)('is not cached if %s meanwhile (S16)', async (_title, channel, payload) => {
    expect(await cachedAfter(channel, payload)).toBe(false);
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
