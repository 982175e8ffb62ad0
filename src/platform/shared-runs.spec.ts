import { SharedRuns } from './shared-runs';

describe('SharedRuns', () => {
  it('lets calls during a run share the next run, because the current run began before them', async () => {
    const ends: (() => void)[] = [];
    const runs = new SharedRuns(() => new Promise((end) => ends.push(end)));
    const first = runs.run();
    let isFresh = false;
    const during = Promise.all([runs.run(), runs.run()]).then(() => (isFresh = true));
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await first;
    await Promise.resolve();
    expect([ends.length, isFresh]).toEqual([2, false]);
    ends[1]?.();
    await during;
    void runs.run();
    expect(ends).toHaveLength(3);
  });
});
