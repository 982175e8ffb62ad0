import { ConfigError, loadConfig } from '../../../src/config/config';
import { appSecret, TestService } from '../../support/service';
import { ServiceProcess } from '../../support/service-process';

/**
 * Secrets from tutorials, tools and lists of common secrets (jwt_tool, jwt.io, sample projects).
 */
const short = [
  ...['secret', 'changeme', 'password', 'admin', '123456', 'key', 'jwt', 'token', 'test', 'private', 'default'],
  ...['your-256-bit-secret', 'your_jwt_secret', 'mysecret'],
];
const repeated = ['secret', 'changeme', 'password', '0123456789', '0123456789abcdef', 'your-256-bit-secret'].map(
  (text) => text.repeat(7),
);
const published = [
  'a-string-secret-at-least-256-bits-long',
  'use-a-long-random-Password-here-1234',
  'changeme-changeme-please-1234567890',
];

describe('secrets', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  it.each([...short, ...repeated, ...published, ' '.repeat(40), 'x'.repeat(31)])(
    'rejects the weak secret %s by name (J13)',
    (secret) => {
      const start = () => loadConfig({ DATABASE_URL: service.config.DATABASE_URL, APP_SECRET: secret });
      expect(start).toThrow(ConfigError);
      expect(start).toThrow(/APP_SECRET: /);
      expect(start).not.toThrow(secret);
    },
  );

  it('does not start with a weak secret or without one (J13)', async () => {
    const { DATABASE_URL } = service.config;
    for (const secret of ['secret', '', 'secret'.repeat(7)]) {
      const instance = await ServiceProcess.spawn({ DATABASE_URL, APP_SECRET: secret });
      expect(await instance.exit).toBe(1);
      expect(instance.output).toMatch(/APP_SECRET: (must|is too)/);
    }
  });

  it('does not start with a secret that differs from the database, and overwrites nothing (J13)', async () => {
    const keys = await service.rows('select * from signing_keys');
    const { DATABASE_URL } = service.config;
    const instance = await ServiceProcess.spawn({ DATABASE_URL, APP_SECRET: [...appSecret].reverse().join('') });
    expect(await instance.exit).toBe(1);
    expect(instance.output).toContain('APP_SECRET: differs from the secret');
    expect(await service.rows('select * from signing_keys')).toEqual(keys);
  });
});
