// Signs access tokens with the key of the service, by its own code: logging in 20,000 times would
// take minutes. Started by logins.js.
require('reflect-metadata');
const path = require('node:path');
const { DIST } = require('./instances');
const { answerParent } = require('./processes');

let tokens;

/** Once the keys are loaded, the rest of the service is of no use here. */
async function start(environment) {
  const { createApp } = require(path.join(DIST, 'app.setup.js'));
  const { AccessTokens } = require(path.join(DIST, 'auth', 'access-tokens.js'));
  const { loadConfig } = require(path.join(DIST, 'config', 'config.js'));
  const app = await createApp(loadConfig(environment));
  tokens = app.get(AccessTokens, { strict: false });
  await app.close();
}

answerParent({ start, sign: (sessions) => sessions.map((session) => tokens.sign(session).access_token) });
