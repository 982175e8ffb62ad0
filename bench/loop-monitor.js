// Loaded into the service with `--require`: measures its event loop. Each request to MONITOR_PORT
// returns the figures since the previous one. The first request starts the measurement.
const { readFileSync } = require('node:fs');
const http = require('node:http');

/** CPU time of this thread in milliseconds: other processes do not change it. Linux only. */
function cpuMs() {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

let measures = false;
let before = 0;
let last = 0;
let longest = 0;

/** Runs in each turn of the loop, so that the time since the previous call is one piece of work. */
function turn() {
  const now = cpuMs();
  longest = Math.max(longest, now - last);
  last = now;
  // A timer instead of `setImmediate`, so that the loop rests between two pieces.
  if (measures) setTimeout(turn, 1);
}

http
  .createServer((_request, response) => {
    // The work of the last request is complete at the next turn of the loop.
    setTimeout(() => {
      const now = cpuMs();
      response.end(JSON.stringify({ busy: now - before, longest: Math.max(longest, now - last) }));
    }, 4);
    response.once('close', () => {
      before = last = cpuMs();
      longest = 0;
      if (measures) return;
      measures = true;
      turn();
    });
  })
  .listen(Number(process.env.MONITOR_PORT), '127.0.0.1')
  .unref();
