// Many who log in at the same moment, and again every second, but for those who still wait for their answer. Started by flood.js.
const http = require('node:http');
const { clearInterval, setInterval } = require('node:timers');
const { answerParent } = require('./processes');

const EVERY_MS = 1_000;

let timer;
let waiting = new Set();
let answers = [];

function send(agent, { url, method = 'POST', body = '' }) {
  return new Promise((resolve) => {
    const start = performance.now();
    const done = (status) => resolve({ status, ms: performance.now() - start });
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const request = http.request(url, { agent, method, headers }, (response) => {
      response
        .resume()
        .once('end', () => done(response.statusCode))
        .once('error', () => done(0));
    });
    request.once('error', () => done(0)).end(body);
  });
}

/**
 * Their connections are open when they begin: 500 new ones cost this process more than what is measured.
 * @param crowd.requests as many for each connection as it may send in all
 */
async function start({ url, requests }) {
  answers = [];
  waiting = new Set();
  const agents = requests.map(() => new http.Agent({ keepAlive: true, maxSockets: 1 }));
  await Promise.all(agents.map((agent) => send(agent, { url: new URL('/health/live', url), method: 'GET' })));
  const busy = new Set();
  let round = 0;
  const storm = () => {
    for (const [index, own] of requests.entries()) {
      if (busy.has(index)) continue;
      busy.add(index);
      const answered = send(agents[index], { url, ...own[round % own.length] }).then((answer) => {
        busy.delete(index);
        waiting.delete(answered);
        answers.push(answer);
      });
      waiting.add(answered);
    }
    round++;
  };
  storm();
  timer = setInterval(storm, EVERY_MS);
}

/** All answers, once the last one is there: `{ status, ms }`, 0 for none. */
async function stop() {
  clearInterval(timer);
  await Promise.all(waiting);
  return answers;
}

answerParent({ start, stop });
