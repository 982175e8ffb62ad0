import { systemActor } from './actor';
import { mayGiveScope, mayReach } from './scope';

const all = systemActor;
const limited = { ...systemActor, carrier_scope: ['c1', 'c2'] };
const none = { ...systemActor, carrier_scope: [] };
const carrier = { ...systemActor, user_type: 'carrier' as const, carrier_id: 'c1' };
/** Users of carriers, and a System User. */
const users = [...['c1', 'c2', 'c3'].map((id) => ({ user_type: 'carrier', carrier_id: id }))];
const others = [
  { user_type: 'system', carrier_id: null },
  { user_type: 'system', carrier_id: 'c1' },
  { user_type: 'carrier', carrier_id: null },
];

it.each([
  ['a System User reaches all users', all, [true, true, true, true, true, true]],
  ['a System User with carriers reaches their users', limited, [true, true, false, false, false, false]],
  ['a System User without any carrier reaches no user', none, [false, false, false, false, false, false]],
  ['a Carrier User reaches the users of the carrier', carrier, [true, false, false, false, false, false]],
  [
    'a Carrier User without a carrier reaches no user',
    { ...carrier, carrier_id: null },
    [false, false, false, false, false, false],
  ],
  [
    'a Carrier User with a carrier_scope reaches only the users of the carrier',
    { ...carrier, carrier_scope: ['c2'] },
    [true, false, false, false, false, false],
  ],
])('%s', (_title, actor, reached) => {
  expect([...users, ...others].map((user) => mayReach(actor, user))).toEqual(reached);
});

it.each([
  ['a System User gives any scope', all, [true, true, true, true]],
  ['a System User with carriers gives some of them, not all carriers', limited, [false, true, true, false]],
  ['a Carrier User gives no scope', carrier, [false, false, false, false]],
])('%s', (_title, actor, given) => {
  expect([null, [], ['c2'], ['c1', 'c3']].map((scope) => mayGiveScope(actor, scope))).toEqual(given);
});
