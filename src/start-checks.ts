import { once } from 'node:events';
import { createServer } from 'node:net';
import { invalid } from './common/errors/app-error';
import type { Config } from './config/config';

/** Checks that the port is free before a database is created. @throws the error of `listen` */
export async function assertCanListen({ PORT: port, HOST: host }: Config): Promise<void> {
  const server = createServer().listen({ port, host });
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

/**
 * Checks `ADMIN_PASSWORD` by the rules for new passwords before a database is created.
 * @throws request.invalid
 */
export async function checkAdministrator(config: Config): Promise<void> {
  const { ADMIN_PASSWORD: password, ADMIN_EMAIL: email = '' } = config;
  if (password === undefined) return;
  const { PasswordPolicy } = await import('./credentials/policy/password-policy.js');
  const { PasswordStrength, strengthLimits } = await import('./credentials/policy/password-strength.js');
  const { BreachedPasswords } = await import('./credentials/policy/breached-passwords.js');
  const strength = new PasswordStrength(strengthLimits);
  const policy = new PasswordPolicy(strength, new BreachedPasswords(config), config);
  const context = { name: 'administrator', email, carrier_id: null };
  const fault = await policy.fault(password, context, '/password');
  await strength.onApplicationShutdown();
  if (fault !== null && fault !== 'unknown') throw invalid(fault);
}
