// A module in Nest. It reads bills for users with the permission `billing:read`.
import { type Caller, verifier } from '@carrier-identity/client';
import { CurrentCaller, guard } from '@carrier-identity/client/nest';
import { Controller, Get, Module, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';

const { IDENTITY_URL = '', IDENTITY_ISSUER = IDENTITY_URL, IDENTITY_KEY = '', PORT = '3001' } = process.env;
const tokens = verifier({ url: IDENTITY_URL, issuer: IDENTITY_ISSUER, key: IDENTITY_KEY, mode: 'feed' });
const { requires } = guard(tokens);

const bills = [
  { bill_id: 1, carrier_id: 'c1', amount: 1200 },
  { bill_id: 2, carrier_id: 'c2', amount: 3400 },
];

@Controller('bills')
class BillsController {
  /** Carrier Users see the bills of their carrier, System Users all. */
  @Get()
  @UseGuards(requires('billing:read'))
  list(@CurrentCaller() caller: Caller): object {
    return { items: bills.filter(({ carrier_id }) => [null, carrier_id].includes(caller.carrier_id)) };
  }
}

@Module({ controllers: [BillsController] })
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: ['error', 'warn'] });
  await app.listen(PORT, '127.0.0.1');
  console.log(`listens on ${await app.getUrl()}`);
}

void main();
