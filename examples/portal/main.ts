// A portal in Fastify: login with a second factor, refresh, logout, and the page of mailed links.
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
void app.listen({ port: Number(PORT), host: '127.0.0.1' }).then((address) => console.log(`listens on ${address}`));
