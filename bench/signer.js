// Signs access tokens with the key and the code of the service, because 20,000 logins would take
// minutes. Started by logins.js.
require('reflect-metadata');
const path = require('node:path');
const { DIST } = require('./instances');
const { answerParent } = require('./processes');

let tokens;

/** Loads the keys, then closes the rest of the service. */
async function start(environment) {
  const { createApp } = require(path.join(DIST, 'app.setup.js'));
  const { AccessTokens } = require(path.join(DIST, 'auth', 'access-tokens.js'));
  const { loadConfig } = require(path.join(DIST, 'config', 'config.js'));
  const app = await createApp(loadConfig(environment));
  tokens = app.get(AccessTokens, { strict: false });
  await app.close();
}

function signOne(session) {
  return tokens.sign({ amr: ['pwd'], auth_time: new Date(), ...session }).access_token;
}

answerParent({ start, sign: (sessions) => sessions.map(signOne) });
