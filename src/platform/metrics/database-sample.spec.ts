import { Gauge, Registry } from 'prom-client';
import { DatabaseSample } from './database-sample';

const gauge = new Gauge({ name: 'jobs', help: 'Jobs by state', labelNames: ['state'], registers: [new Registry()] });
const values = async () => (await gauge.get()).values.map(({ labels, value }) => [labels.state, value]);

beforeEach(() => {
  jest.useFakeTimers();
  gauge.reset();
});
afterEach(() => jest.useRealTimers());

/** Returns a sample whose reads end when the test says so, and the number of its reads. */
function controlled() {
  const reads: { succeed: (count: number) => void; fail: () => void }[] = [];
  const faults: unknown[] = [];
  const read = () =>
    new Promise<() => void>((resolve, reject) =>
      reads.push({
        succeed: (count) => resolve(() => gauge.set({ state: 'waiting' }, count)),
        fail: () => reject(new Error('no connection')),
      }),
    );
  return { reads, faults, sample: new DatabaseSample([gauge], read, (error) => faults.push(error)) };
}

it('reads once for scrapes at the same time, and uses the values for five seconds', async () => {
  const { sample, reads } = controlled();
  const scrapes = Promise.all([sample.refresh(), sample.refresh(), sample.refresh()]);
  reads[0]?.succeed(3);
  await scrapes;
  expect([reads.length, await values()]).toEqual([1, [['waiting', 3]]]);
  jest.advanceTimersByTime(4_999);
  await sample.refresh();
  expect(reads).toHaveLength(1);
  jest.advanceTimersByTime(1);
  const scrape = sample.refresh();
  reads[1]?.succeed(4);
  await scrape;
  expect([reads.length, await values()]).toEqual([2, [['waiting', 4]]]);
});

it('removes the values after two seconds without a response, and sends no further statement meanwhile', async () => {
  const { sample, reads } = controlled();
  gauge.set({ state: 'waiting' }, 1);
  for (let scrape = 0; scrape < 3; scrape++) {
    const refreshed = sample.refresh();
    jest.advanceTimersByTime(2_000);
    await refreshed;
    expect(await values()).toEqual([]);
  }
  expect(reads).toHaveLength(1);
  const scrape = sample.refresh();
  reads[0]?.succeed(2);
  await scrape;
  expect(await values()).toEqual([['waiting', 2]]);
});

it('removes the values after a fault, and reports the first of several in a row', async () => {
  const { sample, reads, faults } = controlled();
  const refreshAndEnd = async (end: (read: (typeof reads)[number]) => void) => {
    const scrape = sample.refresh();
    end(reads.at(-1)!);
    await scrape;
  };
  await refreshAndEnd((read) => read.succeed(1));
  jest.advanceTimersByTime(5_000);
  await refreshAndEnd((read) => read.fail());
  await refreshAndEnd((read) => read.fail());
  expect([await values(), faults.length]).toEqual([[], 1]);
  await refreshAndEnd((read) => read.succeed(1));
  jest.advanceTimersByTime(5_000);
  await refreshAndEnd((read) => read.fail());
  expect(faults).toHaveLength(2);
});
