// The receivers of mails and webhooks.
const http = require('node:http');
const { SMTPServer } = require('smtp-server');

/** Time that the mail server takes, so that jobs are running when a fault begins. */
const MAIL_MS = 500;

/**
 * Starts a mail server.
 * @returns `mails` has the arrival times of the mails to each address; `setDelay` makes it slower
 */
async function startMailServer() {
  const mails = new Map();
  let delayMs = MAIL_MS;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onMailFrom: (_address, _session, done) => void setTimeout(done, delayMs),
    onData: (stream, session, done) => {
      stream.resume().once('end', () => {
        for (const { address } of session.envelope.rcptTo)
          mails.set(address, [...(mails.get(address) ?? []), Date.now()]);
        done();
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const setDelay = (ms = MAIL_MS) => {
    delayMs = ms;
  };
  return { mails, setDelay, url: `smtp://127.0.0.1:${server.server.address().port}` };
}

/** Starts the target of a webhook. `received` counts the requests of each `webhook-id`. */
async function startWebhookTarget() {
  const received = new Map();
  const server = http.createServer((request, response) => {
    request.resume().once('end', () => {
      const id = request.headers['webhook-id'];
      received.set(id, (received.get(id) ?? 0) + 1);
      response.writeHead(204).end();
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { received, url: `http://127.0.0.1:${server.address().port}/` };
}

module.exports = { startMailServer, startWebhookTarget };
