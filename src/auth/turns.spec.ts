import { Turns } from './turns';

const limits = { busyMax: 4, busyPerKeyMax: 2, waitingMax: 3, patienceMs: 60_000 };

/** Work that goes on until it is told to end. */
function work(turns: Turns, key: string) {
  const state = { began: false, end: () => {}, fail: () => {} };
  const done = turns
    .take(key, () => {
      state.began = true;
      return new Promise<void>((resolve, reject) => Object.assign(state, { end: resolve, fail: () => reject(new Error('failed')) }));
    })
    .then(
      () => 'done',
      (error: { code?: string }) => error.code ?? 'failed',
    );
  return { state, done };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('turns', () => {
  it('of one account so many go on, the next wait in their order, and one that fails makes room like any other', async () => {
    const turns = new Turns(limits);
    const jobs = ['a', 'a', 'a', 'a'].map((key) => work(turns, key));
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

  it('whoever is too many is turned away at once, and there is room again afterwards', async () => {
    const turns = new Turns(limits);
    const jobs = ['a', 'a', 'b', 'c', 'd', 'a', 'a', 'a', 'a'].map((key) => work(turns, key));
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
    const again = ['d', 'e', 'f', 'g'].map((key) => work(turns, key));
    expect(again.every(({ state }) => state.began)).toBe(true);
    for (const { state } of again) state.end();
    await Promise.all(again.map(({ done }) => done));
  });

  it('nobody waits longer than their patience, and whoever left takes no turn from others', async () => {
    const turns = new Turns({ ...limits, busyPerKeyMax: 1, patienceMs: 5 });
    const [first, impatient] = [work(turns, 'a'), work(turns, 'a')];
    expect(await impatient.done).toBe('service.overloaded');
    first.state.end();
    await first.done;
    const last = work(turns, 'a');
    expect([impatient.state.began, last.state.began]).toEqual([false, true]);
    last.state.end();
    expect(await last.done).toBe('done');
  });
});
