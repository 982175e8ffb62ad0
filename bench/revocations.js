// Measures how fast a revocation on the first instance reaches a second instance, and verifies that
// the second instance serves no outdated state while it receives no notifications.
const { choose } = require('./fill');
const { startInstance } = require('./instances');
const { Line } = require('./line');
const { Listener, listenersOf, NAME } = require('./listeners');
const { Logins } = require('./logins');
const { quantile, target } = require('./report');
const { addRole, KINDS } = require('./revocation-kinds');
const { tell } = require('./stage');
const { Victims } = require('./victims');

const SEEN_WITHIN_MS = 10_000;
const CACHE_ATTEMPTS = 5;
const NEVER = target.atMost(0, 'times');
/** Targets with notifications: a short delay. Targets without: no outdated response at all. */
const NOTIFIED = { p99: target.atMost(50, 'ms'), outdated: target.none };
const CUT = { p99: target.none, outdated: NEVER };

/** @returns measures for the table; prints the result of each kind as it arrives */
async function measureRevocations({ database: { client }, environment, service, pinned }, { made, count }) {
  await addRole(client);
  const others = await listenersOf(client);
  const second = await startInstance(environment, { measured: false, pinned });
  const listener = new Listener(client, others);
  const victims = new Victims(client, made, service.url);
  await victims.find(2 * (count + KINDS.length), Math.ceil((2 * count) / KINDS.length) + 2);
  const [administrator] = await choose(client, `roles @> '{administrator}'`, 1);
  const { access_token } = await new Logins(service.url, [administrator]).open(administrator);
  const [there, here] = [new Line(second.url), new Line(service.url)];
  const send = (method, path, sent) => here.send(method, path, { token: access_token, ...sent });
  const bench = { client, victims, here, there, send };

  const { kinds, measures } = await tryAll(bench);
  measures.push(...(await measurePhase('revocation elsewhere', bench, kinds, count, NOTIFIED)));
  if ((await listener.find()).length === 0) {
    measures.push(notMeasured(`revocation, listener cut (no backend is called "${NAME}")`));
  } else measures.push(...(await measureCut({ ...bench, listener }, kinds, count)));
  there.close();
  here.close();
  second.child.kill('SIGTERM');
  await second.child.ended;
  return measures;
}

/** Tries each kind once. Kinds that the service does not support are reported and skipped. */
async function tryAll(bench) {
  const [kinds, measures] = [[], []];
  for (const kind of KINDS) {
    const fault = await tryOne(bench, kind).catch((error) => error.message);
    if (fault === null) kinds.push(kind);
    else measures.push(notMeasured(`revocation: ${fault}`));
  }
  return { kinds, measures };
}

/** @returns the reason why a kind cannot be measured, or null */
async function tryOne(bench, kind) {
  const ready = await makeReady(bench, kind);
  if (ready === null) return `${kind.name}: no user left`;
  await ready.revoke();
  return (await bench.here.accessOf(ready.token)) === ready.before ? `${kind.name}: changes nothing` : null;
}

async function measurePhase(name, bench, kinds, count, demands) {
  const done = [];
  for (let turn = 0; turn < count; turn++) {
    const one = await revokeOne(bench, kinds[turn % kinds.length]);
    if (one !== null) done.push(one);
    if ((turn + 1) % 100 === 0) tell(`${name}: ${turn + 1} of ${count}`);
  }
  let revived = 0;
  for (const { token, before } of done) if ((await bench.there.accessOf(token)) === before) revived++;
  for (const kind of kinds) tell(`  ${summary(kind.name, done)}`);
  const times = done.map(({ ms }) => ms);
  const figure = (what, unit, value, demand) => ({ name: `${name}, ${what}`, unit, ours: [value], bare: [], demand });
  return [
    figure('done', 'times', done.length, target.none),
    figure('of these cached before', 'times', done.filter(({ cached }) => cached).length, target.none),
    figure('p50', 'ms', quantile(times, 0.5), target.none),
    figure('p99', 'ms', quantile(times, 0.99), demands.p99),
    figure('longest', 'ms', Math.max(...times), target.none),
    figure('outdated first responses', 'times', done.filter(({ stale }) => stale > 0).length, demands.outdated),
    figure('last outdated response after', 'ms', Math.max(...done.map(({ lastOldMs }) => lastOldMs)), target.none),
    figure('outdated again at the end', 'times', revived, NEVER),
  ];
}

function summary(kind, done) {
  const own = done.filter((one) => one.kind === kind);
  const times = own.map(({ ms }) => ms);
  const old = own.filter(({ stale }) => stale > 0).length;
  const [p50, longest] = [quantile(times, 0.5), Math.max(...times)].map((ms) => `${ms.toFixed(1)} ms`);
  return `${kind}: ${own.length}, p50 ${p50}, longest ${longest}, outdated first responses ${old}`;
}

async function measureCut(bench, kinds, count) {
  const name = 'revocation, listener cut';
  const measures = await measurePhase(name, bench, kinds, count, CUT);
  const { listener } = bench;
  const figure = (what, value) => ({
    name: `${name}, ${what}`,
    unit: 'times',
    ours: [value],
    bare: [],
    demand: target.none,
  });
  return [...measures, figure('reconnections', listener.reconnected), figure('connection missing', listener.missing)];
}

/**
 * Revokes a token on the first instance, then checks the token until the second instance knows.
 * Returns null if no user is left.
 */
async function revokeOne(bench, kind) {
  const { there, listener } = bench;
  await listener?.back();
  const ready = await makeReady(bench, kind);
  if (ready === null) return null;
  const { token, before, cached, revoke } = ready;
  await listener?.cut();
  await revoke();
  const since = performance.now();
  let stale = 0;
  let lastOldMs = 0;
  while ((await there.accessOf(token)) === before && lastOldMs < SEEN_WITHIN_MS) {
    stale++;
    lastOldMs = performance.now() - since;
  }
  const ms = performance.now() - since;
  const result = { kind: kind.name, token, before, cached, stale, lastOldMs };
  return { ...result, ms: lastOldMs < SEEN_WITHIN_MS ? ms : Infinity };
}

/** Returns a victim that the second instance has seen, and the function that revokes the token. */
async function makeReady(bench, kind) {
  const { client, victims, send, there } = bench;
  const found = await victims.next(kind);
  if (found === null) return null;
  const scene = { client, send, ...found };
  const act = (await kind.prepare?.(scene)) ?? (() => kind.revoke(scene));
  const token = found.victim.access_token;
  const before = await there.accessOf(token);
  if (before === 'nothing') throw new Error(`${kind.name}: the token of the victim is invalid`);
  const cached = await usesCache(bench, found.victim);
  const revoke = async () => {
    const { status, body } = await act();
    if (status !== kind.status && (status >= 300 || kind.status !== undefined))
      throw new Error(`${kind.name}: ${status} ${/"code":"([^"]+)"/.exec(body)?.[1] ?? body}`);
  };
  return { token, before, cached, revoke };
}

/**
 * Returns whether the second instance uses its cache: then it does not see a change without a
 * notification. The first responses may still come from the database.
 */
async function usesCache({ client, there }, { session_id, access_token }) {
  for (let attempt = 0; attempt < CACHE_ATTEMPTS; attempt++) {
    const user_agent = `bench ${attempt}`;
    await client.query('update sessions set user_agent = $2 where session_id = $1', [session_id, user_agent]);
    const { session } = await there.check(access_token);
    if (session.user_agent !== user_agent) return true;
  }
  return false;
}

function notMeasured(name) {
  return { name, unit: '', ours: [], bare: [], demand: target.none };
}

module.exports = { measureRevocations };
