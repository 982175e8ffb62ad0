import { LoginQueue } from './login-queue';

const limits = { runningMax: 4, runningPerAccountMax: 2, waitingMax: 3, waitingPerAccountMax: 3, patienceMs: 60_000 };

/** Starts an attempt that runs until `end` or `fail` is called. */
function work(queue: LoginQueue, account: string) {
  const state = { began: false, end: () => {}, fail: () => {} };
  const done = queue
    .run(account, () => {
      state.began = true;
      return new Promise<void>((resolve, reject) =>
        Object.assign(state, { end: resolve, fail: () => reject(new Error('failed')) }),
      );
    })
    .then(
      () => 'done',
      (error: { code?: string }) => error.code ?? 'failed',
    );
  return { state, done };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('the login queue', () => {
  it('runs only a few attempts on one account, and then the others in order, even if one fails', async () => {
    const queue = new LoginQueue(limits);
    const jobs = ['a', 'a', 'a', 'a'].map((account) => work(queue, account));
    const began = () => jobs.map(({ state }) => state.began);
    expect(began()).toEqual([true, true, false, false]);
    jobs[1]?.state.fail();
    await settle();
    expect(began()).toEqual([true, true, true, false]);
    jobs[0]?.state.end();
    await settle();
    expect(began()).toEqual([true, true, true, true]);
    for (const { state } of jobs) state.end();
    expect(await Promise.all(jobs.map(({ done }) => done))).toEqual(['done', 'failed', 'done', 'done']);
  });

  it('rejects attempts beyond the limits at once, and frees all places afterwards', async () => {
    const queue = new LoginQueue(limits);
    const jobs = ['a', 'a', 'b', 'c', 'd', 'a', 'a', 'a', 'a'].map((account) => work(queue, account));
    expect(await jobs[4]?.done).toBe('service.overloaded');
    expect(await jobs[8]?.done).toBe('service.overloaded');
    for (let round = 0; round < 3; round++) {
      for (const { state } of jobs) state.end();
      await settle();
    }
    expect(await Promise.all(jobs.map(({ done }) => done))).toEqual([
      ...Array<string>(4).fill('done'),
      'service.overloaded',
      ...Array<string>(3).fill('done'),
      'service.overloaded',
    ]);
    const again = ['d', 'e', 'f', 'g'].map((account) => work(queue, account));
    expect(again.every(({ state }) => state.began)).toBe(true);
    for (const { state } of again) state.end();
    await Promise.all(again.map(({ done }) => done));
  });

  it('rejects an attempt that waited too long, and does not start it afterwards', async () => {
    const queue = new LoginQueue({ ...limits, runningPerAccountMax: 1, patienceMs: 5 });
    const [first, impatient] = [work(queue, 'a'), work(queue, 'a')];
    expect(await impatient.done).toBe('service.overloaded');
    first.state.end();
    await first.done;
    const last = work(queue, 'a');
    expect([impatient.state.began, last.state.began]).toEqual([false, true]);
    last.state.end();
    expect(await last.done).toBe('done');
  });

  it('keeps waiting places for other accounts when one account has used up its share (L21)', async () => {
    const queue = new LoginQueue({ ...limits, waitingPerAccountMax: 2 });
    const jobs = ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'b'].map((account) => work(queue, account));
    expect(await jobs[4]?.done).toBe('service.overloaded');
    for (let round = 0; round < 2; round++) {
      for (const { state } of jobs) state.end();
      await settle();
    }
    const outcomes = await Promise.all(jobs.map(({ done }) => done));
    expect(outcomes).toEqual(['done', 'done', 'done', 'done', 'service.overloaded', 'done', 'done', 'done']);
  });
});
