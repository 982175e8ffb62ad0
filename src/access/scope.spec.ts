import { systemActor } from './actor';
import { mayGiveScope, mayReach } from './scope';

const all = systemActor;
const limited = { ...systemActor, carrier_scope: ['c1', 'c2'] };
const carrier = { ...systemActor, user_type: 'carrier' as const, carrier_id: 'c1' };
const kinds = ['carrier c1', 'carrier c2', 'carrier c3', 'carrier ', 'system ', 'system c1'];

it.each([
  ['a System User reaches all users', all, kinds],
  ['a System User with carriers reaches their users', limited, ['carrier c1', 'carrier c2']],
  ['a System User without any carrier reaches no user', { ...limited, carrier_scope: [] }, []],
  ['a Carrier User reaches the users of the carrier', carrier, ['carrier c1']],
  ['a Carrier User with a carrier_scope reaches no others', { ...carrier, carrier_scope: ['c2'] }, ['carrier c1']],
  ['a Carrier User without a carrier reaches no user', { ...carrier, carrier_id: null }, []],
])('%s', (_title, actor, reached) => {
  const isReached = (kind: string) => {
    const [user_type = '', carrier_id = ''] = kind.split(' ');
    return mayReach(actor, { user_type, carrier_id: carrier_id === '' ? null : carrier_id });
  };
  expect(kinds.filter(isReached)).toEqual(reached);
});

it.each([
  ['a System User gives any scope', all, [true, true, true, true]],
  ['a System User with carriers gives some of them, not all carriers', limited, [false, true, true, false]],
  ['a Carrier User gives no scope', carrier, [false, false, false, false]],
])('%s', (_title, actor, given) => {
  expect([null, [], ['c2'], ['c1', 'c3']].map((scope) => mayGiveScope(actor, scope))).toEqual(given);
});
