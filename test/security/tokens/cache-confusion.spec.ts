import { addLogins, type MadeLogin } from '../../support/made-logins';
import { type TestAnswer, TestService } from '../../support/service';
import { decode, forge, ownKey } from '../../support/tokens';

jest.setTimeout(1_800_000);

const users = 1_000;
/** Total calls. The full run sets 100000. */
const calls = Number(process.env['IDENTITY_CALLS'] ?? 3_000);
/** Number of parallel calls. */
const atOnce = 64;

/** A user with two tokens of one session. */
interface Person extends MadeLogin {
  tokens: [string, string];
}

describe('the token cache', () => {
  let service: TestService;
  let people: Person[];
  const seed = Number(process.env['IDENTITY_SEED'] ?? Date.now() % 1_000_000);
  const random = generator(seed);
  const oneOf = <Item>(items: Item[]): Item => items[Math.floor(random() * items.length)] as Item;

  beforeAll(async () => {
    service = await TestService.start();
    const { key, header } = ownKey(service);
    const now = Math.floor(Date.now() / 1_000);
    const claims = { ...decode(service.admin.token), iat: now, exp: now + 3_600 };
    const made = [
      ...(await addLogins(service, users / 2, { prefix: 'plain', roles: ['carrier_user'], carriers: 50 })),
      ...(await addLogins(service, users / 4, { prefix: 'manager', roles: ['carrier_administrator'], carriers: 50 })),
      ...(await addLogins(service, users / 4, { prefix: 'system', user_type: 'system', roles: ['auditor'] })),
    ];
    people = made.map((login) => {
      const token = (jti: string) => forge(header, { ...claims, sub: login.user_id, sid: login.session_id, jti }, key);
      return { ...login, tokens: [token('one'), token('two')] };
    });
  });
  afterAll(() => service.close());

  /** Requests that return the user of a token. */
  const ways: ((token: string) => Promise<TestAnswer>)[] = [
    (token) => service.get('/user', { token }),
    (token) => service.get('/user', { headers: { 'x-auth-token': token } }),
    (token) => service.post('/auth/check-token', { body: { token } }),
    (token) => service.post('/auth/check-token', { token, body: {} }),
    (token) => service.post('/auth/check-token', { headers: { 'x-auth-token': token }, body: {} }),
  ];

  /** Returns the parts of a response that identify its user. */
  const identity = ({ status, body }: TestAnswer) => {
    const user = body.user ?? body;
    const { user_id, name, carrier_id, roles } = user;
    const session_id = body.session?.session_id as string | undefined;
    return {
      status,
      user_id,
      name,
      carrier_id,
      roles,
      permissions: body.permissions,
      ...(session_id === undefined ? {} : { session_id }),
    };
  };

  const permissionsOf = new Map<string, string[]>();
  const expected = (who: Person, answer: TestAnswer) => {
    const { user_id, name, carrier_id, roles, session_id } = who;
    const permissions = permissionsOf.get(String(roles[0]));
    return {
      status: 200,
      user_id,
      name,
      carrier_id,
      roles,
      permissions,
      ...(answer.body.session === undefined ? {} : { session_id }),
    };
  };

  /** Sends parallel calls up to the total, and returns the wrong responses. */
  async function run(count: number, call: () => Promise<string | null>): Promise<string[]> {
    const wrong: string[] = [];
    let left = count;
    const worker = async () => {
      while (left-- > 0) {
        const problem = await call();
        if (problem !== null) wrong.push(problem);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    return wrong;
  }

  /**
   * Two forged tokens from the parts of two valid ones: the claims of one with the signature of the
   * other.
   */
  function mixed(one: string, other: string): string {
    const [head, payload] = one.split('.');
    return `${head}.${payload}.${other.split('.')[2]}`;
  }

  it(`returns the right user in ${calls} interleaved calls of ${users} users, amid forged tokens (J18)`, async () => {
    for (const { name, permissions } of await service.rows<{ name: string; permissions: string[] }>(
      'select name, permissions from roles',
    ))
      permissionsOf.set(name, [...permissions].sort());
    let forged = 0;
    const wrong = await run(calls, async () => {
      const who = oneOf(people);
      const token = oneOf(who.tokens);
      const ask = oneOf(ways);
      if (random() < 0.1) {
        forged++;
        const { status } = await ask(mixed(token, oneOf(oneOf(people.filter((each) => each !== who)).tokens)));
        return status === 401 ? null : `a mixture of two tokens: ${status}`;
      }
      const answer = await ask(token);
      const [seen, right] = [JSON.stringify(identity(answer)), JSON.stringify(expected(who, answer))];
      return seen === right ? null : `${seen} instead of ${right}`;
    });
    process.stdout.write(
      `identity: ${calls} calls of ${users} users, ${forged} with mixed tokens, ${wrong.length} wrong, seed ${seed}\n`,
    );
    expect(wrong.slice(0, 5)).toEqual([]);
  });

  it('rejects each ended session while others are asked about (J18)', async () => {
    const leaving = people.filter((_who, index) => index % 20 === 0);
    const state = new Map<Person, 'leaving' | 'ended'>();
    let count = 0;
    const wrong = await run(calls / 10, async () => {
      const next = ++count % 10 === 0 ? leaving.pop() : undefined;
      if (next !== undefined) {
        state.set(next, 'leaving');
        const { status } = await service.post('/auth/logout', { token: next.tokens[0], body: {} });
        state.set(next, 'ended');
        return status === 204 ? null : `logout: ${status}`;
      }
      const who = oneOf(random() < 0.5 ? people : [...state.keys(), ...people.slice(0, 1)]);
      const before = state.get(who);
      const answer = await oneOf(ways)(oneOf(who.tokens));
      // During a logout both responses are right, but never those of another user.
      const possible = before === 'ended' ? [401] : state.has(who) ? [200, 401] : [200];
      if (!possible.includes(answer.status)) return `${who.name}, ${before ?? 'live'}: ${answer.status}`;
      return answer.status === 401 || identity(answer).user_id === who.user_id
        ? null
        : `${who.name} is ${identity(answer).name}`;
    });
    const statuses = [...state].filter(([, each]) => each !== 'ended');
    expect([state.size > 0, statuses]).toEqual([true, []]);
    expect(wrong.slice(0, 5)).toEqual([]);
  });
});

/** Returns a generator of pseudo-random numbers from 0 to 1 (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixing = Math.imul(state ^ (state >>> 15), 1 | state);
    mixing = (mixing + Math.imul(mixing ^ (mixing >>> 7), 61 | mixing)) ^ mixing;
    return ((mixing ^ (mixing >>> 14)) >>> 0) / 4_294_967_296;
  };
}
