import { Streak } from './streak';

it('starts again after a gap, so that running jobs are not released right after an outage (F41)', () => {
  const streak = new Streak(15_000);
  expect([0, 10_000, 25_000, 35_000].map((at) => streak.extend(at))).toEqual([0, 10_000, 25_000, 35_000]);
  expect([60_000, 70_000].map((at) => streak.extend(at))).toEqual([0, 10_000]);
});
