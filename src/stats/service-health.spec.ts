import { diskHealth } from './service-health.service';

const gibibyte = 2 ** 30;

describe('the health of the disk', () => {
  it.each([
    [500, 50, 'ok'],
    [500, 49.9, 'warning'],
    [500, 10, 'warning'],
    [500, 9.9, 'critical'],
    [8, 1, 'ok'],
    [8, 0.99, 'warning'],
    [8, 0.25, 'warning'],
    [8, 0.24, 'critical'],
  ])('with %d GiB of which %d are free is %s', (total, free, state) => {
    const [free_bytes, total_bytes] = [free * gibibyte, total * gibibyte];
    expect(diskHealth(free_bytes, total_bytes)).toEqual({ state, free_bytes, total_bytes });
  });
});
