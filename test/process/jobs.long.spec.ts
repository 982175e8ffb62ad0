import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from '../support/process/cluster';
import { Mailbox } from '../support/network/mailbox';
import type { ServiceProcess } from '../support/process/service-process';
import { until } from '../support/until';

jest.setTimeout(600_000);

/** Time for each response of SMTP, below the limits of the service. A mail takes 54 s. */
const responseMs = 9_000;

/** The real times after which jobs are released. `delivery.spec.ts` tests the statements. */
describe('the jobs of several instances', () => {
  let cluster: Cluster;
  let slow: Server;
  let slowUrl: string;
  const received: string[] = [];
  beforeAll(async () => {
    cluster = await Cluster.create();
    slow = createServer((socket) => void converse(socket).catch(() => undefined)).listen(0, '127.0.0.1');
    await once(slow, 'listening');
    slowUrl = `smtp://127.0.0.1:${(slow.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await cluster.close();
    slow.close();
  });

  /** Responds to an instance. Fails with the connection if the instance is killed. */
  async function converse(socket: Socket): Promise<void> {
    socket.on('error', () => undefined);
    const respond = (line: string) => delay(responseMs).then(() => socket.write(`${line}\r\n`));
    void respond('220 slow');
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      const text = chunk.toString();
      received.push(text.slice(0, 4));
      void respond(text.startsWith('DATA') ? '354 go on' : '250 ok');
    }
  }
  const conversations = () => received.filter((command) => command === 'EHLO').length;
  const jobs = () => cluster.rows<{ attempts: number }>('select attempts from graphile_worker.jobs');
  /** Creates a user, who gets a mail. */
  const create = async (instance: ServiceProcess, name: string) => {
    const body = { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com` };
    expect((await instance.post('/user/create', { token: await cluster.login(instance), body })).status).toBe(201);
    return body.email;
  };

  it('run once on a living instance, however long they take (F41)', async () => {
    const instances = [await cluster.start({ SMTP_URL: slowUrl }), await cluster.start({ SMTP_URL: slowUrl })] as const;
    await create(instances[0], 'slow');
    await until(async () => (await jobs()).length === 0);
    expect(received).toContain('DATA');
    expect(conversations()).toBe(1);
    await Promise.all(instances.map((instance) => instance.kill()));
  });

  it('continue within 60 s after their instance was killed (F10, F41)', async () => {
    const mailbox = new Mailbox();
    await mailbox.start();
    const before = conversations();
    const killed = await cluster.start({ SMTP_URL: slowUrl });
    const email = await create(killed, 'interrupted');
    await until(() => conversations() > before);
    await killed.kill();
    const killedAt = Date.now();
    expect(await jobs()).toEqual([{ attempts: 1 }]);
    await cluster.start({ SMTP_URL: mailbox.url });
    await mailbox.take(email);
    expect(Date.now() - killedAt).toBeLessThan(60_000);
    await until(async () => (await jobs()).length === 0);
    expect(mailbox.mails).toEqual([]);
    await mailbox.stop();
  });
});
