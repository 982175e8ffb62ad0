import 'reflect-metadata';
import { monotonicMs } from '../platform/clock';
import {
  type ActingUser,
  type Actor,
  actorOf,
  identityOf,
  isOneself,
  isRestricted,
  keyActorOf,
  selfOf,
  systemActor,
  systemActorFor,
} from './actor';
import { assertFresh, CheckFresh, isFresh } from './fresh';

const origin = { ip: '10.0.0.1', user_agent: 'curl', request_id: 'r1' };
const session = { session_id: 's1', audience: ['api'], auth_time: new Date(0), fresh_until: 5 };
const rights = { permissions: ['user:read'], may_grant: ['carrier_user'] };
const row: ActingUser['user'] = {
  ...{ user_id: 'u1', user_type: 'carrier', carrier_id: 'c1', carrier_scope: null, roles: ['carrier_user'] },
  ...{ must_change_password: false, must_enroll_second_factor: false },
};
const user = actorOf({ user: row, ...rights }, session, origin);
const active = { key_id: 'k1', created_by: 'u1', permissions: ['user:read'], expires_at: new Date(0) };
const key = keyActorOf({ ...active, user_type: 'carrier', carrier_id: 'c1', carrier_scope: null }, origin);

describe('an actor', () => {
  it('has the rights and the session of its user', () => {
    const login = { ...session, is_limited: false };
    expect(user).toEqual({ actor_type: 'user', created_by: null, ...row, ...rights, ...login, ...origin });
    expect(actorOf({ user: row, ...rights }, { ...session, is_limited: true }, origin).is_limited).toBe(true);
  });

  it.each(['must_change_password', 'must_enroll_second_factor'] as const)('has no rights while it %s', (duty) => {
    const restricted = { ...row, [duty]: true };
    expect([isRestricted(row), isRestricted(restricted)]).toEqual([false, true]);
    const none = { [duty]: true, roles: [], permissions: [], may_grant: [] };
    expect(actorOf({ user: restricted, ...rights }, session, origin)).toEqual({ ...user, ...none });
  });

  it('has the permissions of its API key, and neither roles nor a login', () => {
    const identity = { actor_type: 'key', user_id: 'k1', created_by: 'u1', user_type: 'carrier', carrier_id: 'c1' };
    const own = { carrier_scope: null, roles: [], permissions: ['user:read'], may_grant: [] };
    const login = { must_change_password: false, must_enroll_second_factor: false, session_id: null };
    expect(key).toEqual({ ...identity, ...own, ...login, auth_time: null, fresh_until: null, ...origin });
  });

  it('is the service with all permissions, and the origin of the caller', () => {
    expect(systemActor).toMatchObject({ actor_type: 'system', user_type: 'system', permissions: ['*'] });
    expect(systemActor).toMatchObject({ roles: [], may_grant: [], must_change_password: false });
    expect(systemActorFor(origin)).toEqual({ ...systemActor, ...origin });
    expect(isRestricted(systemActor)).toBe(false);
  });

  it('is not the user with the id of its API key (Z24, Z31)', () => {
    expect([user, key, systemActor].map(identityOf)).toEqual([
      'u1',
      'key:k1',
      'system:00000000-0000-0000-0000-000000000000',
    ]);
    expect([isOneself(user, 'u1'), isOneself(user, 'u2'), isOneself(key, 'k1')]).toEqual([true, false, false]);
    expect([selfOf(user), selfOf(key)]).toEqual(['u1', 'u1']);
  });
});

describe('a fresh authentication', () => {
  const stale: Actor = { ...user, fresh_until: monotonicMs() };
  const fresh: Actor = { ...user, fresh_until: monotonicMs() + 600_000 };
  const Below: MethodDecorator = (_target, _name, { value }) =>
    Reflect.defineMetadata('route', 'below', value as object);
  class Controller {
    @CheckFresh()
    @Below
    remove(this: unknown, _id: unknown, ..._more: unknown[]): unknown {
      return this;
    }
  }
  const controller = new Controller();

  it('is required of users, not of API keys (S24)', () => {
    expect([fresh, stale, key].map(isFresh)).toEqual([true, false, true]);
    expect(() => assertFresh(stale)).toThrow('auth.reauthentication_required');
    expect(() => assertFresh(fresh)).not.toThrow();
  });

  it('is checked with the arguments, before a handler runs (S24)', () => {
    expect(controller.remove(null, 'text', fresh)).toBe(controller);
    expect(() => controller.remove({}, stale)).toThrow('auth.reauthentication_required');
    expect(() => controller.remove(null, {})).toThrow('remove requires a fresh authentication');
  });

  it('keeps the name and the metadata of the handler', () => {
    expect(Controller.prototype.remove.name).toBe('remove');
    expect(Reflect.getMetadata('route', Controller.prototype.remove)).toBe('below');
  });
});
