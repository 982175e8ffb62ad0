import { Slots } from './slots';

it('runs no more work at once than there are slots, and continues after a failure', async () => {
  const slots = new Slots(2);
  let running = 0;
  let most = 0;
  const work = async (fails: boolean) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    if (fails) throw new Error('failed');
  };
  const results = await Promise.allSettled(
    [true, true, false, false, false].map((fails) => slots.run(() => work(fails))),
  );
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
  expect([most, running, slots.free]).toEqual([2, 0, 2]);
});
