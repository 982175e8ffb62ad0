import {
  needsFreshAuthentication,
  resetsFactors,
  secures,
  touchesPower,
  type UndoAction,
  type UserChange,
  voidsProposals,
} from './user-change';

const undo: UndoAction = { kind: 'undo', operation_id: 'o1', times: {} as never, restores: false };

/** Columns: needs a fresh authentication, drops proposed addresses, is not allowed for oneself. */
it.each<[UserChange, ...[fresh: boolean, voids: boolean, power: boolean]]>([
  [{}, false, false, false],
  [{ first_name: 'Ada' }, false, false, false],
  [{ status: 'disabled' }, false, true, true],
  [{ status: 'active' }, true, true, true],
  [{ roles: [] }, true, true, true],
  [{ roles_add: [] }, true, true, true],
  [{ roles_remove: [] }, true, true, true],
  [{ carrier_scope: null }, true, true, true],
  [{ secure: true }, true, true, true],
  [{ secure: false }, false, true, true],
  [{ reset_second_factors: true }, true, false, false],
  [{ reset_second_factors: false }, false, false, false],
  [{ allowed_ips: [] }, true, false, false],
  [{ email: 'a@b' }, true, false, false],
  [{ email: 'a@b', roles: [] }, true, false, true],
  [{ must_change_password: false }, false, true, false],
  [{ second_factor_required_from: null }, true, true, false],
])('classifies the change %j', (change, ...expected) => {
  const action = { kind: 'change' as const, change };
  expect([needsFreshAuthentication(action), voidsProposals(action), touchesPower(change)]).toEqual(expected);
});

it('requires no fresh authentication for a change that the password confirmed, unless it enables users (S24)', () => {
  const verified = { password_changed_at: null };
  const isNeeded = (change: UserChange) => needsFreshAuthentication({ kind: 'change', change, verified });
  expect([{ email: 'a@b' }, { roles: [] }, { status: 'active' as const }].map(isNeeded)).toEqual([false, false, true]);
});

it('requires a fresh authentication for a purge, not for a deletion', () => {
  expect([true, false].map((purge) => needsFreshAuthentication({ kind: 'delete', purge }))).toEqual([true, false]);
});

it('drops proposed addresses with an undo, not with a deletion', () => {
  expect([undo, { kind: 'delete' as const }].map(voidsProposals)).toEqual([true, false]);
});

it('removes factors and voids passwords only if the change says so', () => {
  const all: UserChange = { reset_second_factors: true, secure: true };
  const actions = [{ kind: 'change', change: all } as const, { kind: 'change', change: {} } as const, undo];
  expect(actions.map(resetsFactors)).toEqual([true, false, false]);
  expect(actions.map(secures)).toEqual([true, false, false]);
});
