import 'reflect-metadata';
import { systemActor } from '../access/actor';
import { CursorCodec } from '../http/lists/cursor';
import type { RawQuery } from '../http/lists/filter';
import type { SqlFragment } from '../http/lists/sql';
import type { Database } from '../platform/database/database';
import { parseUserListQuery } from './user-list';
import { UsersRepository } from './users.repository';

const cursors = new CursorCodec(Buffer.alloc(32));

/** Returns the texts that a list sends, as prepared statements and as others. */
async function sentBy(query: RawQuery): Promise<{ prepared: string[]; others: string[] }> {
  const sent = { prepared: [] as string[], others: [] as string[] };
  const into = (texts: string[]) => (fragment: SqlFragment) =>
    Promise.resolve(texts.push(fragment.toQuery().text) && []);
  const queries = { run: into(sent.others), runPrepared: into(sent.prepared), estimates: new Map<string, number>() };
  const repository = new UsersRepository({ ...queries, answers: queries } as unknown as Database);
  const parsed = parseUserListQuery({ count: 'none', ...query }, { actor: systemActor, cursors, owner: 'caller' });
  await repository.list(systemActor, parsed);
  return sent;
}

describe('the list of users', () => {
  it('is prepared without a filter only (D31)', async () => {
    expect(await sentBy({})).toEqual({ prepared: [expect.any(String)], others: [] });
    const filters: RawQuery[] = [
      { must_enroll_second_factor: 'true' },
      { phone_isnull: 'true', has_second_factor: 'false' },
      { user_type_in: 'system,carrier' },
    ];
    for (const filter of filters) expect(await sentBy(filter)).toEqual({ prepared: [], others: [expect.any(String)] });
  });

  it('sends the same text for repeated values of a filter (D31)', async () => {
    const texts = [2, 100, 500].map(async (count) => {
      const flags = Array.from({ length: count }, (_, index) => index % 2 === 0).join();
      return (await sentBy({ must_enroll_second_factor_in: flags })).others.join();
    });
    expect(new Set(await Promise.all(texts)).size).toBe(1);
  });
});
