import { Client } from 'pg';
import { TestService } from '../support/service';

interface Sent {
  client: unknown;
  text: string;
}

describe('statements of a bulk change', () => {
  let service: TestService;
  let token: string;
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
  });
  afterAll(() => service.close());

  /** Returns the statements of the one transaction that changes users, without BEGIN and COMMIT. */
  async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
    const sent: Sent[] = [];
    const query = Client.prototype.query as (...parameters: unknown[]) => unknown;
    const spy = jest.spyOn(Client.prototype, 'query').mockImplementation(function (this: unknown, ...parameters) {
      const [first] = parameters as unknown[] as [string | { text?: string }];
      sent.push({ client: this, text: (typeof first === 'string' ? first : (first.text ?? '')).trim() });
      return query.apply(this, parameters) as never;
    });
    try {
      await work();
    } finally {
      spy.mockRestore();
    }
    const change = sent.findIndex(({ text }) => text.includes('update users'));
    const ofClient = sent.filter(({ client }) => client === sent[change]?.client).map(({ text }) => text);
    const [start, end] = ['START TRANSACTION', 'COMMIT'].map((text) => ofClient.indexOf(text)) as [number, number];
    expect([start, end]).not.toContain(-1);
    return ofClient.slice(start + 1, end);
  }

  const change = async (body: object) => {
    const { user_id } = await service.createUser({ roles: ['carrier_user'] });
    return statementsOf(async () => {
      const answer = await service.patch(`/user/all?user_id=${user_id}`, { token, body });
      expect([answer.status, answer.body.changed]).toEqual([200, 1]);
    });
  };

  it('sends at most 8 statements to change the time zone of one user', async () => {
    const statements = await change({ timezone: 'Europe/Vienna' });
    expect(statements.length).toBeLessThanOrEqual(8);
  });

  it('sends at most 16 statements to change the roles of one user', async () => {
    const statements = await change({ roles: ['carrier_administrator'] });
    expect(statements.length).toBeLessThanOrEqual(16);
  });
});
