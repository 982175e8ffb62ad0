// Loaded into the service with `--require`: measures its event loop. Each request to MONITOR_PORT
// returns the figures since the previous one.
const { readFileSync } = require('node:fs');
const http = require('node:http');
const { monitorEventLoopDelay } = require('node:perf_hooks');

const RESOLUTION_MS = 1;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();

/** CPU time of this thread in milliseconds: other processes do not change it. Linux only. */
function cpuMs() {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

let before = cpuMs();

http
  .createServer((_request, response) => {
    // The delay of the last request is known only at the next turn of the loop.
    setTimeout(() => {
      const busy = cpuMs() - before;
      response.end(JSON.stringify({ busy, longest: Math.min(busy, delay.max / 1e6 - RESOLUTION_MS) }));
    }, 2 * RESOLUTION_MS);
    response.once('close', () => {
      delay.reset();
      before = cpuMs();
    });
  })
  .listen(Number(process.env.MONITOR_PORT), '127.0.0.1')
  .unref();
