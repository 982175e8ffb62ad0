import 'reflect-metadata';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Caller, Verifier } from '@carrier-identity/client';
import { verifier } from '@carrier-identity/client';
import { guard as guardExpress } from '@carrier-identity/client/express';
import { guard as guardFastify } from '@carrier-identity/client/fastify';
import { CurrentCaller, guard as guardNest } from '@carrier-identity/client/nest';
import { type FakeIdentity, fakeIdentity } from '@carrier-identity/client/testing';
import { Controller, Get, Module, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import express from 'express';
import { fastify } from 'fastify';

interface Running {
  url: string;
  stop: () => Promise<unknown>;
}

async function startExpress(tokens: Verifier): Promise<Running> {
  const { requires } = guardExpress(tokens);
  const app = express();
  app.get('/bills', requires('billing:read'), (request, response) => void response.json({ id: request.caller.id }));
  app.use(((_error, _request, response, _next) => void response.sendStatus(500)) as express.ErrorRequestHandler);
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, stop: async () => once(server.close(), 'close') };
}

async function startFastify(tokens: Verifier): Promise<Running> {
  const { requires } = guardFastify(tokens);
  const app = fastify();
  app.get('/bills', { onRequest: requires('billing:read') }, ({ caller }) => ({ id: caller.id }));
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), stop: () => app.close() };
}

async function startNest(tokens: Verifier): Promise<Running> {
  const { requires } = guardNest(tokens);
  @Controller('bills')
  class BillsController {
    @Get()
    @UseGuards(requires('billing:read'))
    list(@CurrentCaller() caller: Caller): object {
      return { id: caller.id };
    }
  }
  @Module({ controllers: [BillsController] })
  class AppModule {}
  const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: false });
  await app.listen(0, '127.0.0.1');
  return { url: await app.getUrl(), stop: () => app.close() };
}

describe.each([
  ['Express', startExpress],
  ['Fastify', startFastify],
  ['Nest', startNest],
])('the guard for %s', (_, start) => {
  let fake: FakeIdentity;
  let app: Running;

  beforeAll(async () => {
    fake = await fakeIdentity();
    app = await start(verifier({ url: fake.url, key: 'cik_test', mode: 'check', cache: 0, apiKeys: true }));
  });
  afterAll(async () => {
    await app.stop();
    await fake.close();
  });

  async function get(authorization?: string): Promise<{ status: number; challenge: string | null; body: object }> {
    const response = await fetch(`${app.url}/bills`, { headers: authorization === undefined ? {} : { authorization } });
    const body = (await response.json()) as object;
    return { status: response.status, challenge: response.headers.get('www-authenticate'), body };
  }

  it('passes the caller of a token with the permission', async () => {
    const user_id = '0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e';
    const token = await fake.token({ user_id, permissions: ['billing:read'] });
    expect(await get(`Bearer ${token}`)).toMatchObject({ status: 200, body: { id: user_id } });
    expect(await get(`bearer ${fake.apiKey(['*'])}`)).toMatchObject({ status: 200 });
  });

  it('responds with 401, 403 and their challenges (RFC 6750 §3)', async () => {
    for (const none of [undefined, '', 'Basic YTpi', 'Bearer', 'Bearer a b'])
      expect(await get(none)).toMatchObject({ status: 401, challenge: 'Bearer', body: { code: 'auth.token_missing' } });
    const token = await fake.token({ permissions: ['billing:write'] });
    expect(await get(`Bearer ${token}`)).toMatchObject({
      status: 403,
      challenge: 'Bearer error="insufficient_scope", scope="billing:read"',
      body: { code: 'access.denied' },
    });
    fake.endSession(token);
    const invalid = { status: 401, challenge: 'Bearer error="invalid_token"', body: { code: 'auth.token_invalid' } };
    expect(await get(`Bearer ${token}`)).toMatchObject(invalid);
    expect(await get('Bearer x.y.z')).toMatchObject(invalid);
  });

  it('responds with 503 while the token cannot be checked, so that clients keep their sessions', async () => {
    const token = await fake.token({ permissions: ['billing:read'] });
    fake.down();
    const answer = await get(`Bearer ${token}`);
    fake.up();
    expect(answer).toMatchObject({ status: 503, challenge: null, body: { code: 'service.unavailable' } });
  });
});
