// Loaded into a process under test before its main module: loads the modules that open the
// database, then waits for the file GATE. After that, the process needs only milliseconds of CPU
// time to start the database.
const { existsSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

// Threads of the service load this file as well.
if (isMainThread) {
  require('../../../dist/src/platform/embedded-postgres/embedded-postgres');
  require('../../../dist/src/platform/database/migrate');
  const nap = new Int32Array(new SharedArrayBuffer(4));
  console.log('waits for the gate');
  while (!existsSync(process.env.GATE)) Atomics.wait(nap, 0, 0, 20);
}
