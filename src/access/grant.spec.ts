import { systemActor } from './actor';
import { giveableRoles, type GrantableRole, roleForm } from './grant';

const role = (name: string, permissions: string[], may_grant: string[] = []): GrantableRole => ({
  name,
  permissions,
  may_grant,
});
const actor = (permissions: string[], may_grant: string[] = []) => ({ ...systemActor, permissions, may_grant });
const giveable = (...args: Parameters<typeof giveableRoles>) => [...giveableRoles(...args)].sort();

describe('the roles that an actor may grant', () => {
  it('includes roles whose permissions the actor holds, and those that a role of the actor names', () => {
    const roles = [role('all', ['*']), role('some', ['a:b', 'c:d']), role('none', []), role('near', ['a:bc'])];
    expect(giveable(actor(['a:b', 'c:d']), roles)).toEqual(['none', 'some']);
    expect(giveable(actor(['a:b', 'a:*'], ['all']), roles)).toEqual(['all', 'none']);
    expect(giveable(actor(['*']), roles)).toEqual(['all', 'near', 'none', 'some']);
    expect(giveable({ ...actor(['*']), actor_type: 'key' }, roles)).toEqual(['near', 'none', 'some']);
    expect(giveable({ ...actor(['*']), must_change_password: true }, roles)).toEqual([]);
  });

  it('follows may_grant over any number of steps, unless the actor may grant the role anyway', () => {
    const roles = [
      role('all', ['*']),
      role('one', [], ['all']),
      role('two', ['a:b'], ['one', 'three']),
      role('three', []),
    ];
    expect(giveable(actor(['a:b']), roles)).toEqual(['three']);
    expect(giveable(actor(['a:b'], ['one']), roles)).toEqual(['one', 'three', 'two']);
    expect(giveable(actor([], ['all']), roles)).toEqual(['all', 'one', 'three']);
  });

  it('grants roles that name each other together or not at all', () => {
    const loop = [
      role('self', ['a:b'], ['self']),
      role('one', ['a:b'], ['two']),
      role('two', ['c:d'], ['one', 'gone']),
    ];
    expect(giveable(actor(['a:b', 'c:d']), loop)).toEqual(['one', 'self', 'two']);
    expect(giveable(actor(['a:b']), loop)).toEqual(['self']);
    const chain = Array.from({ length: 500 }, (_, at) => role(`r${at}`, [], [`r${(at + 1) % 500}`]));
    expect(giveable(actor(['a:b']), chain)).toHaveLength(500);
    expect(giveable(actor(['a:b']), [...chain.slice(0, 499), role('r499', ['c:d'])])).toEqual([]);
  });

  it('agrees with a search of all paths in all graphs of three roles', () => {
    const names = ['x', 'y', 'z'];
    const subsets = Array.from({ length: 8 }, (_, bits) => names.filter((_name, at) => ((bits >> at) & 1) === 1));
    const wrong: unknown[] = [];
    for (const heldBits of subsets)
      for (const named of subsets)
        for (let graph = 0; graph < 512; graph++) {
          const roles = names.map((name, at) => role(name, [`${name}:${name}`], subsets[(graph >> (at * 3)) & 7]));
          const held = heldBits.map((name) => `${name}:${name}`);
          const leads = (name: string, passed: string[] = []): string[] => {
            if (named.includes(name) || passed.includes(name)) return passed;
            const next = roles.find((one) => one.name === name)?.may_grant ?? [];
            return next.reduce((ways, other) => leads(other, ways), [...passed, name]);
          };
          const wanted = names.filter((name) => leads(name).every((passed) => heldBits.includes(passed)));
          if (giveable(actor(held, named), roles).join() !== wanted.join()) wrong.push({ held, named, roles });
        }
    expect(wrong).toEqual([]);
  });
});

it.each([
  ...['a', '_', '-a', 'a.B-c_9'].map((name) => [name, true] as const),
  ...['', '.a', 'a b', ' a', 'a ', 'a/b'].map((name) => [name, false] as const),
])('accepts %j as the name of a role: %p', (name, accepted) => expect(roleForm.test(name)).toBe(accepted));
