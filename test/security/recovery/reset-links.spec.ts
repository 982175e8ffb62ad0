import { connect } from 'node:net';
import type { ReceivedMail } from '../../support/mailbox';
import { endMailLimits, queueEmpty } from '../../support/links';
import { TestService } from '../../support/service';

const base = 'https://identity.example.net';
const accepted = /^HTTP\/1\.1 202 /;
const twoHosts = /^HTTP\/1\.1 400 [^]*application\/problem\+json[^]*"parameter":"Host"/;
const nowhere = /^HTTP\/1\.1 404 [^]*application\/problem\+json[^]*"code":"request.not_found"/;

describe('links in mails come from the configuration only', () => {
  let service: TestService;
  let port: number;
  let email: string;

  beforeAll(async () => {
    service = await TestService.start({ PUBLIC_URL: base, TRUST_PROXY: '127.0.0.0/8' });
    ({ port } = await service.listen());
    ({ email } = await service.createUser());
  });
  afterAll(() => service.close());

  /** Sends raw bytes and returns the raw response. */
  function exchange(...head: string[]): Promise<string> {
    const body = JSON.stringify({ email });
    const lines = [
      ...head,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Connection: close',
      '',
      body,
    ];
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(lines.join('\r\n')));
      let answer = '';
      socket.on('data', (chunk) => (answer += chunk.toString()));
      socket.on('error', reject).on('close', () => resolve(answer));
    });
  }

  function expectClean({ source, token }: ReceivedMail): void {
    expect(source).not.toMatch(/evil\./i);
    expect(source).toContain(`${base}/auth/reset/${token}`);
    for (const link of source.match(/https?:\/\/[^\s"<>]+/g) ?? []) expect(link.startsWith(base)).toBe(true);
  }

  it('remembers no host of an earlier request (R3)', async () => {
    expect(await exchange('POST /auth/reset_email HTTP/1.1', 'Host: evil.test', 'X-Forwarded-Host: evil.test')).toMatch(
      accepted,
    );
    expectClean(await service.mailbox.take(email));
    await endMailLimits(service);
    expect((await service.post('/auth/reset_email', { body: { email } })).status).toBe(202);
    expectClean(await service.mailbox.take(email));
  });

  it.each([
    ['another Host', ['POST /auth/reset_email HTTP/1.1', 'Host: evil.test']],
    ['a Host with a path', ['POST /auth/reset_email HTTP/1.1', `Host: evil.test/${base}`]],
    ['no Host, over HTTP/1.0', ['POST /auth/reset_email HTTP/1.0']],
  ])('ignores link poisoning by %s (R1)', async (_name, head) => {
    await endMailLimits(service);
    expect(await exchange(...head)).toMatch(accepted);
    expectClean(await service.mailbox.take(email));
  });

  it.each([
    ['two Host headers', ['POST /auth/reset_email HTTP/1.1', 'Host: localhost', 'Host: evil.test'], twoHosts],
    [
      'two Host headers that agree',
      ['POST /auth/reset_email HTTP/1.1', 'Host: localhost', 'Host: localhost'],
      twoHosts,
    ],
    ['no Host, over HTTP/1.1', ['POST /auth/reset_email HTTP/1.1'], /^HTTP\/1\.1 400 /],
    ['an absolute target', ['POST http://evil.test/auth/reset_email HTTP/1.1', 'Host: localhost'], nowhere],
    ['an absolute target of the service', [`POST ${base}/auth/reset_email HTTP/1.1`, 'Host: evil.test'], nowhere],
  ])('rejects link poisoning by %s (R1)', async (_name, head, refusal) => {
    await endMailLimits(service);
    expect(await exchange(...head)).toMatch(refusal);
    await queueEmpty(service);
    expect(service.mailbox.mails).toEqual([]);
  });

  it('ignores forwarding headers, from a trusted proxy and from a stranger (R2)', async () => {
    const mailFor = async (headers: Record<string, string>, ip: string) => {
      await endMailLimits(service);
      const answer = await service.post('/auth/reset_email', { headers, body: { email }, ip });
      expect(answer.status).toBe(202);
      const mail = await service.mailbox.take(email);
      expectClean(mail);
      return constantPart(mail);
    };
    const clean = await mailFor({}, '127.0.0.1');
    const names = [
      'x-forwarded-host',
      'x-forwarded-proto',
      'x-forwarded-port',
      'x-forwarded-prefix',
      'forwarded',
      'x-original-url',
      'x-host',
    ];
    for (const name of [...names, 'x-rewrite-url']) {
      expect(
        await mailFor({ [name]: name === 'forwarded' ? 'host=evil.test;proto=http' : 'evil.test' }, '127.0.0.1'),
      ).toBe(clean);
      expect(await mailFor({ [name]: 'http://evil.test:81/auth/reset/' }, '198.51.100.7')).toBe(clean);
    }
  });
});

/** Returns a mail without the parts that differ between mails. */
function constantPart({ source, token }: ReceivedMail): string {
  return source
    .replace(/^(Message-ID|Date):.*$/gim, '$1:')
    .replace(/--_NmP-[\w-]+/g, 'boundary')
    .replaceAll(token ?? '', 'token');
}
