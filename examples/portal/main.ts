// A portal in Fastify: login with a second factor, refresh, logout, and the page of mailed links.
<<<<<<< HEAD
import { randomUUID } from 'node:crypto';
import { IdentityError, login, type PortalSession, type Visitor } from '@carrier-identity/client';
import { parseCookie, stringifySetCookie } from 'cookie';
import { fastify, type FastifyReply, type FastifyRequest } from 'fastify';
import { form, page, prepare } from './pages';

type Fields<Name extends string> = FastifyRequest<{ Body: Record<Name, string>; Params: { token: string } }>;
const { IDENTITY_URL = '', IDENTITY_KEY = '', PORT = '3002', TRUST_PROXY } = process.env;
const portal = login({ url: IDENTITY_URL, key: IDENTITY_KEY });
// A portal with several instances keeps these in its database.
const sessions = new Map<string, PortalSession>();
const challenges = new Map<string, string>();
const cookie = { path: '/', httpOnly: true, secure: true, sameSite: 'lax' } as const;
const visitorOf = ({ ip, headers }: FastifyRequest): Visitor => ({ address: ip, userAgent: headers['user-agent'] });
const idOf = ({ headers }: FastifyRequest): string => parseCookie(headers.cookie ?? '')['__Host-portal'] ?? '';

/** Keeps something under a new id, which the browser gets as a cookie. */
function keep<Value>(reply: FastifyReply, values: Map<string, Value>, value: Value): void {
  const id = randomUUID();
  values.set(id, value);
  reply.header('set-cookie', stringifySetCookie('__Host-portal', id, cookie));
}

const app = fastify({ ...(TRUST_PROXY !== undefined && { trustProxy: TRUST_PROXY }) });
prepare(app);

app.get('/login', () => form('/login', 'login', 'password'));
app.post('/login', async (request: Fields<'login' | 'password'>, reply) => {
  const { session, challenge } = await portal.login(request.body, visitorOf(request));
  if (session) keep(reply, sessions, session);
  else keep(reply, challenges, challenge);
  return reply.redirect(session ? '/' : '/code', 303);
});
app.get('/code', () => form('/code', 'code'));
app.post('/code', async (request: Fields<'code'>, reply) => {
  const challenge = challenges.get(idOf(request)) ?? '';
  keep(reply, sessions, await portal.secondFactor({ challenge, code: request.body.code }, visitorOf(request)));
  challenges.delete(idOf(request));
  return reply.redirect('/', 303);
});
app.get('/', async (request, reply) => {
  const kept = sessions.get(idOf(request));
  const session = kept && (await portal.refresh(kept, visitorOf(request)));
  if (!session) return reply.redirect('/login', 303);
  sessions.set(idOf(request), session);
  return page(`Hello ${session.name}`, ['/logout', 'Log out']);
});
app.post('/logout', async (request, reply) => {
  const session = sessions.get(idOf(request));
  if (session) await portal.logout(session);
  sessions.delete(idOf(request));
  return reply.redirect('/login', 303);
});
app.get('/reset/:token', async (request: Fields<never>) => {
  await portal.checkReset(request.params.token, visitorOf(request));
  return form(`/reset/${request.params.token}`, 'password');
});
app.post('/reset/:token', async (request: Fields<'password'>, reply) => {
  await portal.reset(request.params.token, request.body.password, visitorOf(request));
  return reply.redirect('/login', 303);
});
app.setErrorHandler((error, request, reply) => {
  if (!(error instanceof IdentityError)) return reply.code(500).send(page('Something went wrong.'));
  const reasons = error.errors.map(({ detail }) => detail).join(' ');
  return reply.code(error.unavailable ? 503 : error.status).send(page(`${error.problem.title} ${reasons}`));
});

=======
import { login, type LoginStep } from '@carrier-identity/client';
import { createSite, type Form, form, page, visitorOf, Visits } from './site';

const { IDENTITY_URL = '', IDENTITY_KEY = '', PORT = '3002' } = process.env;
const portal = login({ url: IDENTITY_URL, key: IDENTITY_KEY });
const visits = new Visits<LoginStep>();
const app = createSite();

app.get('/login', () => form('/login', 'login', 'password'));
app.post('/login', async (request: Form<'login' | 'password'>, reply) => {
  const step = await portal.login(request.body, visitorOf(request));
  visits.start(reply, step);
  return reply.redirect(step.session ? '/' : '/code', 303);
});
app.get('/code', () => form('/code', 'code'));
app.post('/code', async (request: Form<'code'>, reply) => {
  const factor = { challenge: visits.of(request)?.challenge ?? '', code: request.body.code };
  visits.start(reply, { session: await portal.secondFactor(factor, visitorOf(request)) });
  return reply.redirect('/', 303);
});
app.get('/', async (request, reply) => {
  const kept = visits.of(request)?.session;
  const session = kept && (await portal.refresh(kept, visitorOf(request)));
  if (!session) return reply.redirect('/login', 303);
  visits.keep(request, { session });
  return page(`Hello ${session.name}`, ['/logout', 'Log out']);
});
app.post('/logout', async (request, reply) => {
  const session = visits.of(request)?.session;
  if (session) await portal.logout(session);
  visits.keep(request);
  return reply.redirect('/login', 303);
});
app.get('/reset/:token', async (request: Form<never>) => {
  await portal.checkReset(request.params.token, visitorOf(request));
  return form(`/reset/${request.params.token}`, 'password');
});
app.post('/reset/:token', async (request: Form<'password'>, reply) => {
  await portal.reset(request.params.token, request.body.password, visitorOf(request));
  return reply.redirect('/login', 303);
});
>>>>>>> client
void app.listen({ port: Number(PORT), host: '127.0.0.1' }).then((address) => console.log(`listens on ${address}`));
