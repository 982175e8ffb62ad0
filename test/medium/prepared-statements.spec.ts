import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { rawSql } from '../../src/common/query/sql';
import { Database } from '../../src/database/database';
import { TestService } from '../support/service';

/** Maximum number of named statements of a process. */
const namesMax = 500;

describe('named statements', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());
  afterEach(() => jest.restoreAllMocks());

  /** Returns the texts that `work` sends: of named statements by name, and of unnamed ones. */
  async function sentBy(work: () => Promise<unknown>): Promise<{ named: Map<string, string>; unnamed: string[] }> {
    const sent = jest.spyOn(Client.prototype, 'query');
    await work();
    const named = new Map<string, string>();
    const unnamed: string[] = [];
    for (const [query] of sent.mock.calls as unknown as [string | { text: string; name?: string }][]) {
      if (typeof query === 'string') unnamed.push(query);
      else if (query.name === undefined) unnamed.push(query.text);
      else named.set(query.name, query.text);
    }
    sent.mockRestore();
    return { named, unnamed };
  }
  const list = (query: string) => service.get(`/user/list?${query}`, { token: service.admin.token });
  const ofList = (texts: Iterable<string>) => [...texts].filter((text) => text.includes('as cursor_value'));

  it('names no statement with a filter of a caller (D31)', async () => {
    const filters = [
      'must_enroll_second_factor_in=true,false',
      'must_enroll_second_factor=true',
      'phone_isnull=true&has_second_factor=false',
      'user_type_in=system,carrier',
    ];
    for (const filter of filters) {
      const { named, unnamed } = await sentBy(async () => expect((await list(filter)).status).toBe(200));
      expect([filter, ofList(named.values()), ofList(unnamed).length > 0]).toEqual([filter, [], true]);
    }
    expect(ofList((await sentBy(() => list(''))).named.values())).toHaveLength(1);
  });

  it('sends the same text for repeated values of a filter (D31)', async () => {
    const texts = await Promise.all(
      [2, 100, 500].map(async (count) => {
        const values = Array.from({ length: count }, (_, index) => index % 2 === 0).join(',');
        return ofList((await sentBy(() => list(`must_enroll_second_factor_in=${values}`))).unnamed);
      }),
    );
    expect(new Set(texts.flat()).size).toBe(1);
  });

  it.each([
    ['GET', '/auth/session/list'],
    ['DELETE', '/auth/session/all'],
  ] as const)('sends the same unnamed text of %s %s for any number of users (D31)', async (method, path) => {
    const { token } = service.admin;
    const sent = new Set<string>();
    for (const count of [2, 100, 500]) {
      const ids = Array.from({ length: count }, () => randomUUID());
      const { named, unnamed } = await sentBy(() =>
        service.send(method, `${path}?user_id_in=${ids.join()}`, { token }),
      );
      const ofSessions = (texts: Iterable<string>) => [...texts].filter((text) => text.includes('join session_search'));
      expect(ofSessions(named.values())).toEqual([]);
      sent.add(ofSessions(unnamed).join('\n'));
    }
    expect([...sent]).toEqual([expect.stringContaining('user_id = any(')]);
  });

  it('gives names to a bounded number of statements (D31)', async () => {
    const database = service.app.get(Database);
    const count = namesMax + 50;
    const { named } = await sentBy(async () => {
      for (let index = 0; index < count; index++)
        expect(await database.runPrepared(rawSql(`select ${index} as value`))).toEqual([{ value: index }]);
    });
    expect([named.size > 0, named.size <= namesMax]).toEqual([true, true]);
    // Every statement keeps its name, or has none.
    const again = await sentBy(() => database.runPrepared(rawSql('select 0 as value')));
    expect([...again.named]).toEqual([...named].slice(0, 1));
    expect((await sentBy(() => database.runPrepared(rawSql(`select ${count - 1} as value`)))).named.size).toBe(0);
  });
});
