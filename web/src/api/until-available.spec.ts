import { ApiProblem } from './problems';
import { untilAvailable } from './until-available';

describe('a request during an outage', () => {
  const problem = (status: number, retryAfter: number | null = null) =>
    new ApiProblem({ code: 'x', status, retryAfter });
  /** Returns a request with these results, and the number of its attempts. */
  const requestOf = (...results: (ApiProblem | string)[]) => {
    let attempts = 0;
    const send = () => {
      const result = results[attempts++];
      return result instanceof ApiProblem ? Promise.reject(result) : Promise.resolve(result);
    };
    return { send, attempts: () => attempts };
  };
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('is repeated until the service responds, after the time that the service names', async () => {
    const { send, attempts } = requestOf(problem(0), problem(503, 5), 'saved');
    const onWait = jest.fn();
    const result = untilAvailable(send, new AbortController().signal, onWait);
    await jest.advanceTimersByTimeAsync(2_000);
    expect(attempts()).toBe(2);
    await jest.advanceTimersByTimeAsync(4_999);
    expect(attempts()).toBe(2);
    await jest.advanceTimersByTimeAsync(1);
    expect(await result).toBe('saved');
    expect(onWait).toHaveBeenCalledTimes(2);
  });

  it('is not repeated after a refusal, after the user stops it, or for longer than 10 minutes', async () => {
    const refused = requestOf(problem(412));
    await expect(untilAvailable(refused.send, new AbortController().signal, jest.fn())).rejects.toMatchObject({
      status: 412,
    });
    const stop = new AbortController();
    const stopped = requestOf(problem(503), 'saved');
    const waiting = expect(untilAvailable(stopped.send, stop.signal, jest.fn())).rejects.toMatchObject({ status: 503 });
    await jest.advanceTimersByTimeAsync(100);
    stop.abort();
    await waiting;
    expect(stopped.attempts()).toBe(1);
    const endless = requestOf(...Array<ApiProblem>(1_000).fill(problem(503, 3_600)));
    const ended = expect(untilAvailable(endless.send, new AbortController().signal, jest.fn())).rejects.toMatchObject({
      status: 503,
    });
    await jest.advanceTimersByTimeAsync(11 * 60_000);
    await ended;
    expect(endless.attempts()).toBe(62);
  });
});
