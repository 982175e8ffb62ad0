import { AppError } from '../http/errors/app-error';
import { systemActor } from './actor';
import { Admission, type AdmissionLimits, type WorkOwner, workOwnerOf } from './admission';

const patient: AdmissionLimits = {
  name: 'long-work',
  work: 'lists',
  placesMax: 8,
  waitingPerActorMax: 20,
  patienceMs: 600_000,
};

/** Work that runs until it is ended, in an admission that records the order of its starts. */
class Stage {
  readonly started: string[] = [];
  private readonly ends = new Map<string, () => void>();
  readonly admission: Admission;

  constructor(limits: Partial<AdmissionLimits> = {}) {
    this.admission = new Admission({ ...patient, ...limits });
  }

  async start(name: string, owner: WorkOwner, gone?: AbortSignal): Promise<string> {
    return this.admission.run(owner, () => this.work(name), gone);
  }

  async startInBackground(name: string, owner: WorkOwner, patienceMs: number): Promise<string> {
    return this.admission.run(owner, () => this.work(name), undefined, patienceMs);
  }

  /** Ends work, and lets the work that gets its place start. */
  async end(name: string): Promise<void> {
    this.ends.get(name)?.();
    await new Promise(setImmediate);
  }

  private work(name: string): Promise<string> {
    this.started.push(name);
    return new Promise((resolve) => this.ends.set(name, () => resolve(name)));
  }
}

function user(name: string, carrier: string | null = null): WorkOwner {
  return { actor: name, user: name, carrier };
}

function keyOf(creator: string, name: string): WorkOwner {
  return { actor: `key:${name}`, user: creator, carrier: null };
}

it('gives one actor half of the places, and serves the next request when one ends (D30)', async () => {
  const stage = new Stage();
  void stage.start('b', user('b'));
  for (let index = 1; index <= 6; index++) void stage.start(`a${index}`, user('a'));
  expect(stage.started).toEqual(['b', 'a1', 'a2', 'a3', 'a4']);
  await stage.end('a2');
  expect(stage.started).toEqual(['b', 'a1', 'a2', 'a3', 'a4', 'a5']);
  expect(stage.admission.waiting).toBe(1);
});

it.each([2, 4, 5, 8])(
  'leaves a quarter of %i places free for others while an actor is alone (D30)',
  async (placesMax) => {
    const stage = new Stage({ placesMax });
    for (let index = 1; index <= placesMax; index++) void stage.start(`a${index}`, user('a', 'north'));
    const held = stage.started.length;
    expect(held).toBe(Math.floor((placesMax * 3) / 4));
    void stage.start('b', user('b'));
    expect(stage.started.at(-1)).toBe('b');
    // While the other actor works, the first actor gets no place beyond half.
    for (let ended = 1; ended <= held - Math.floor(placesMax / 2); ended++) await stage.end(`a${ended}`);
    expect(stage.started.at(-1)).toBe('b');
    await stage.end(`a${held}`);
    expect(stage.started.at(-1)).toBe(`a${held + 1}`);
  },
);

it('gives the users of a carrier three quarters of the places together (D30)', () => {
  const stage = new Stage();
  for (const name of ['a', 'b', 'c'])
    for (let index = 1; index <= 3; index++) void stage.start(`${name}${index}`, user(name, 'north'));
  expect(stage.started).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'b3']);
  void stage.start('d1', user('d', 'south'));
  expect(stage.started.at(-1)).toBe('d1');
});

it('gives a user and their keys three quarters of the places together (D30)', () => {
  const stage = new Stage();
  for (let index = 1; index <= 4; index++) void stage.start(`a${index}`, user('a'));
  for (const name of ['first', 'second'])
    for (let index = 1; index <= 2; index++) void stage.start(`${name}${index}`, keyOf('a', name));
  expect(stage.started).toEqual(['a1', 'a2', 'a3', 'a4', 'first1', 'first2']);
  void stage.start('other', keyOf('b', 'third'));
  expect(stage.started.at(-1)).toBe('other');
});

it.each([1, 2, 3])('admits at least one request of each kind of holder with %i places (D30)', async (placesMax) => {
  const stage = new Stage({ placesMax });
  void stage.start('a', user('a', 'north'));
  await stage.end('a');
  void stage.start('b', keyOf('a', 'first'));
  expect(stage.started).toEqual(['a', 'b']);
});

it('serves waiting actors in turn, regardless of the order of their requests (D30)', async () => {
  const stage = new Stage({ placesMax: 1 });
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) void stage.start(name, user(name.charAt(0)));
  for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']) await stage.end(name);
  expect(stage.started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});

it('passes over waiting work whose share is used up (D30)', async () => {
  const stage = new Stage({ placesMax: 4 });
  for (const name of ['a1', 'a2', 'b1', 'b2', 'a3', 'c1']) void stage.start(name, user(name.charAt(0)));
  await stage.end('b1');
  expect(stage.started).toEqual(['a1', 'a2', 'b1', 'b2', 'c1']);
  await stage.end('a1');
  expect(stage.started.at(-1)).toBe('a3');
});

it('rejects a request with rate-limit headers if too many requests of its actor wait (D30)', async () => {
  const stage = new Stage({ placesMax: 2 });
  for (let index = 0; index <= 20; index++) void stage.start(`a${index}`, user('a'));
  await expect(stage.start('late', user('a'))).rejects.toMatchObject({
    code: 'request.rate_limited',
    extras: {
      retry_after_seconds: 5,
      headers: { 'ratelimit-policy': '"long-work";q=1;qu="concurrent-requests"', ratelimit: '"long-work";r=0;t=5' },
    },
  });
  void stage.start('b', user('b'));
  expect(stage.started).toEqual(['a0', 'b']);
});

it('rejects a request that got no place in time, and removes it from the queue (D30)', async () => {
  const stage = new Stage({ placesMax: 1, patienceMs: 1 });
  void stage.start('a', user('a'));
  await expect(stage.start('b', user('b'))).rejects.toThrow(AppError);
  expect(stage.admission.waiting).toBe(0);
  await stage.end('a');
  void stage.start('c', user('c'));
  expect(stage.started).toEqual(['a', 'c']);
});

it('removes the waiting request of a client that disconnected, but no running request (D30)', async () => {
  const stage = new Stage({ placesMax: 1 });
  const gone = new AbortController();
  const first = stage.start('a1', user('a'), gone.signal);
  const second = stage.start('a2', user('a'), gone.signal);
  void stage.start('b', user('b'));
  gone.abort();
  await expect(second).rejects.toThrow(AppError);
  await expect(stage.start('a3', user('a'), gone.signal)).rejects.toThrow(AppError);
  expect(stage.started).toEqual(['a1']);
  await stage.end('a1');
  await expect(first).resolves.toBe('a1');
  expect(stage.started).toEqual(['a1', 'b']);
});

it('frees the place of work that failed (D30)', async () => {
  const stage = new Stage({ placesMax: 1 });
  const failed = stage.admission.run(user('a'), () => Promise.reject(new Error('lost')));
  void stage.start('b', user('b'));
  await expect(failed).rejects.toThrow('lost');
  await stage.end('a');
  expect(stage.started).toEqual(['b']);
});

it('lets background work wait longer than requests, in the turn of its actor (D30)', async () => {
  const stage = new Stage({ placesMax: 1, waitingPerActorMax: 1, patienceMs: 1 });
  for (const name of ['a', 'b1', 'b2', 'c1']) void stage.startInBackground(name, user(name.charAt(0)), 600_000);
  for (const name of ['a', 'b1', 'c1', 'b2']) await stage.end(name);
  expect(stage.started).toEqual(['a', 'b1', 'c1', 'b2']);
});

it('rejects background work that got no place in time (D30)', async () => {
  const stage = new Stage({ placesMax: 1 });
  void stage.start('a', user('a'));
  await expect(stage.startInBackground('b', user('b'), 1)).rejects.toThrow(AppError);
  expect(stage.admission.waiting).toBe(0);
});

it('serves an actor beyond half of the places only while no other actor waits (D30)', async () => {
  const stage = new Stage();
  const gone = new AbortController();
  for (let index = 1; index <= 8; index++) void stage.start(`a${index}`, user('a'));
  await stage.end('a1');
  expect(stage.started.at(-1)).toBe('a7');
  void stage.start('key', keyOf('a', 'first'));
  void stage.start('late', keyOf('a', 'second'), gone.signal).catch(() => undefined);
  await stage.end('a2');
  expect(stage.started.at(-1)).toBe('key');
  gone.abort();
  await stage.end('key');
  expect(stage.started.at(-1)).toBe('a8');
});

it('counts the work of an API key for the key, its creator and their carrier', () => {
  const key = { ...systemActor, actor_type: 'key' as const, user_id: 'k', created_by: 'u', carrier_id: 'c' };
  expect(workOwnerOf(key)).toEqual({ actor: 'key:k', user: 'u', carrier: 'c' });
});
