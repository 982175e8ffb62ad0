import { HashQueue } from './hash-queue';

const limits = {
  runningMax: 1,
  loginsWaitingMax: 6,
  loginsInARowMax: 3,
  newPasswordsMax: 5,
  patienceMs: 60_000,
  newPasswordsPerActorMax: 2,
};

/** Creates a queue whose work is listed in `started` and runs until `end` is called. */
function observed(settings = limits) {
  const queue = new HashQueue(settings);
  const started: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const work = (name: string) => () => {
    started.push(name);
    return new Promise<string>((resolve, reject) => {
      ends.set(name, (error) => (error === undefined ? resolve(name) : reject(error)));
    });
  };
  const reasonOf = (error: Error & { code?: string }) => error.code ?? error.message;
  const outcome = (running: Promise<string>) => running.catch(reasonOf);
  return {
    started,
    login: (name: string) => outcome(queue.runLogin(work(name))),
    create: (name: string, actor: string) => outcome(queue.runNewPassword(actor, work(name))),
    background: (name: string) => outcome(queue.runInBackground(work(name))),
    end: async (name: string, error?: Error) => {
      ends.get(name)?.(error);
      await new Promise((resolve) => setImmediate(resolve));
    },
    /** Ends all running work until no work waits. */
    endAll: async () => {
      for (let index = 0; index < started.length; index++) {
        ends.get(started[index] ?? '')?.();
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

const times = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('the hash queue', () => {
  it('runs waiting logins first, and one other hash after three logins', async () => {
    const { login, create, background, started, endAll } = observed();
    const all = [login('first'), create('a1', 'a'), create('b1', 'b'), background('import')];
    all.push(...times(6).map((n) => login(`login-${n}`)));
    await endAll();
    const order = ['first', 'login-0', 'login-1', 'login-2', 'a1', 'login-3', 'login-4', 'login-5', 'b1', 'import'];
    expect(started).toEqual(order);
    expect((await Promise.all(all)).sort()).toEqual([...order].sort());
  });

  it('counts logins in a row only while other hashes wait', async () => {
    const { login, create, started, end, endAll } = observed();
    const all = times(5).map((n) => login(`login-${n}`));
    for (const n of times(3)) await end(`login-${n}`);
    all.push(create('a1', 'a'), login('late'));
    await endAll();
    expect(started).toEqual(['login-0', 'login-1', 'login-2', 'login-3', 'login-4', 'late', 'a1']);
    await Promise.all(all);
  });

  it('keeps the waiting places of logins free from other hashes (L21)', async () => {
    const { login, create, background, endAll } = observed();
    const others = times(5).map((n) => create(`create-${n}`, `actor-${n}`));
    others.push(...times(20).map((n) => background(`import-${n}`)));
    const logins = times(7).map((n) => login(`login-${n}`));
    expect(await logins[6]).toBe('service.overloaded');
    await endAll();
    expect(await Promise.all(logins.slice(0, 6))).toEqual(times(6).map((n) => `login-${n}`));
    expect((await Promise.all(others)).filter((name) => /^(create|import)-/.test(name))).toHaveLength(25);
  });

  it('rejects new passwords beyond the share of an actor, waiting or running, until one ends (L21)', async () => {
    const { create, end, endAll } = observed();
    const [first, second] = [create('a1', 'a'), create('a2', 'a')];
    expect(await create('a3', 'a')).toBe('request.rate_limited');
    const other = create('b1', 'b');
    await end('a1', new Error('failed'));
    const third = create('a4', 'a');
    expect(await create('a5', 'a')).toBe('request.rate_limited');
    await endAll();
    expect(await Promise.all([first, second, other, third])).toEqual(['failed', 'a2', 'b1', 'a4']);
  });

  it('runs one background hash at a time, so that new passwords do not wait for all of them', async () => {
    const { create, background, started, end, endAll } = observed();
    const all = times(3).map((n) => background(`import-${n}`));
    await end('none');
    all.push(create('a1', 'a'));
    await end('import-0', new Error('failed'));
    all.push(create('b1', 'b'));
    await endAll();
    expect(started).toEqual(['import-0', 'a1', 'import-1', 'b1', 'import-2']);
    expect(await Promise.all(all)).toEqual(['failed', 'import-1', 'import-2', 'a1', 'b1']);
  });

  it('reports the share and a retry time in the rejection', async () => {
    const queue = new HashQueue({ ...limits, newPasswordsPerActorMax: 0 });
    await expect(queue.runNewPassword('a', () => Promise.resolve())).rejects.toMatchObject({
      code: 'request.rate_limited',
      extras: {
        retry_after_seconds: 1,
        headers: {
          'ratelimit-policy': '"new-passwords";q=0;qu="concurrent-requests"',
          ratelimit: '"new-passwords";r=0;t=1',
        },
      },
    });
  });

  it('rejects new passwords when all places are taken, and accepts them again when places are free', async () => {
    const { create, endAll } = observed();
    const all = times(5).map((n) => create(`create-${n}`, `actor-${n}`));
    expect(await create('late', 'late')).toBe('service.overloaded');
    await endAll();
    expect(await Promise.all(all)).toHaveLength(5);
    const again = times(5).map((n) => create(`again-${n}`, `actor-${n}`));
    await endAll();
    expect(await Promise.all(again)).toEqual(times(5).map((n) => `again-${n}`));
  });

  it('never exceeds its limit of running hashes, whether they succeed or fail', async () => {
    const { login, create, started, end, endAll } = observed({ ...limits, runningMax: 2 });
    const all = [login('one'), login('two'), login('three'), create('four', 'a')];
    expect(started).toEqual(['one', 'two']);
    await end('two', new Error('failed'));
    expect(started).toEqual(['one', 'two', 'three']);
    await endAll();
    expect(await Promise.all(all)).toEqual(['one', 'failed', 'three', 'four']);
    const again = [login('five'), login('six'), login('seven')];
    expect(started.slice(4)).toEqual(['five', 'six']);
    await endAll();
    expect(await Promise.all(again)).toEqual(['five', 'six', 'seven']);
  });

  it('rejects a login that waited too long, and lets the next one run (L21)', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { login, started, end } = observed();
      const [first, late] = [login('first'), login('late')];
      jest.advanceTimersByTime(limits.patienceMs);
      expect(await late).toBe('service.overloaded');
      const next = login('next');
      await end('first');
      await end('next');
      expect([await first, await next, started]).toEqual(['first', 'next', ['first', 'next']]);
    } finally {
      jest.useRealTimers();
    }
  });
});
