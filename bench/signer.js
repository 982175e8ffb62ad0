// Signs access tokens with the key and the code of the service, because logins would take minutes.
// Started by neighbour-world.js.
require('reflect-metadata');
const path = require('node:path');
const { DIST } = require('./stage');
const { answerParent } = require('./processes');

const load = (file) => require(path.join(DIST, file));

/** Signs an access token for each session, and mints its first refresh token. */
async function sign({ environment, sessions }) {
  const { AccessTokens } = load('auth/tokens/access-tokens.js');
  const { RefreshTokens } = load('auth/sessions/refresh-token.js');
  const { hashToken } = load('platform/random.js');
  const app = await load('app.setup.js').createApp(load('platform/config/config.js').loadConfig(environment));
  const [tokens, minter] = [app.get(AccessTokens, { strict: false }), new RefreshTokens(environment.APP_SECRET)];
  // Only the keys are needed from now on.
  await app.close();
  return sessions.map((session) => {
    const login = { session_id: session.session_id, amr: ['pwd'], auth_time: new Date() };
    const { access_token } = tokens.sign({ user: session, session: login, grant: null, permissions: [] });
    const refresh_token = minter.mint(session.session_id);
    return { access_token, refresh_token, hash: hashToken(refresh_token).toString('hex') };
  });
}

answerParent({ sign });
