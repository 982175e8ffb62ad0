// Loaded into a service under test before its main module: lowers limits that no setting changes.
const { isMainThread } = require('node:worker_threads');

// Threads of the service load this file as well.
if (isMainThread) {
  const { body, pace, skipped } = JSON.parse(process.env.SMALL_LIMITS);
  Object.assign(require('../../../dist/src/users/operations/operation-queues').skippedLimits, skipped);
  Object.assign(require('../../../dist/src/users/transfer/files/paced').exportPace, pace);
  const setup = require('../../../dist/src/app.setup');
  const { createApp } = setup;
  setup.createApp = (config, limits) => createApp(config, { ...body, ...limits });
}
