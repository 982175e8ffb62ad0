// Loaded into the service under test before its main module: lets a test call its providers by IPC.
const cluster = require('node:cluster');
const { isMainThread } = require('node:worker_threads');

// Threads and workers of the service load this file as well.
if (isMainThread && cluster.isPrimary) open();

function open() {
  const { NestFactory } = require('@nestjs/core');
  const { resetLimits } = require('../../../dist/src/auth/recovery/reset-requests.service');
  const defaults = { ...resetLimits };
  const limits = {
    set: (values) => void Object.assign(resetLimits, values),
    restore: () => void Object.assign(resetLimits, defaults),
  };
  // Otherwise each test that follows a mailed link would wait for seconds.
  limits.set({ delaySeconds: 0 });

  const create = NestFactory.create.bind(NestFactory);
  /** @type {import('@nestjs/core').NestApplication | undefined} */
  let app;
  NestFactory.create = async (...args) => (app = await create(...args));

  const now = performance.now.bind(performance);
  let stoppedAt = null;
  let ahead = 0;
  /** The monotonic clock of the service. Timers and the database do not notice its changes. */
  const clock = {
    pass: (ms) => void (ahead += ms),
    stop: () => void (stoppedAt = now()),
    start: () => void (stoppedAt = null),
  };
  performance.now = () => (stoppedAt ?? now()) + ahead;

  /** Returns the provider whose class has this name, the router of Fastify, the clock or limits. */
  const providerOf = (name) => {
    if (name === 'Clock') return clock;
    if (name === 'ResetLimits') return limits;
    if (name === 'Router') return app.getHttpAdapter().getInstance();
    for (const module of app.container.getModules().values())
      for (const { instance, metatype } of module.providers.values())
        if (metatype?.name === name && instance) return instance;
    throw new Error(`no provider ${name}`);
  };

  process.on('message', ({ id, provider, method, args }) => {
    Promise.resolve()
      .then(() => providerOf(provider)[method](...args))
      .then(
        (value) => process.send({ id, value }),
        // A copy of an error has no members of its own.
        (error) => process.send({ id, error, code: error.code }),
      );
  });
  process.channel?.unref();
}
