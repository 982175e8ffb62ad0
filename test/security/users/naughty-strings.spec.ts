import { naughtyStrings, allNaughtyStrings } from '../../support/naughty-strings';
import { queryOperations } from '../../support/body-operations';
import { TestService } from '../../support/service';
import { unexpectedResponses } from '../../support/unexpected-responses';

describe('naughty strings', () => {
  let service: TestService;
  let token: string;
  let user_id: string;
  const patch = (body: unknown) => service.patch(`/user/${user_id}`, { token, body });
  const get = async () => (await service.get(`/user/${user_id}`, { token })).body;
  const is400 = ({ status }: { status: number }) => status === 400;

  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    ({ user_id } = await service.createUser());
  });
  afterAll(() => service.close());

  it('keeps naughty strings exactly and finds them again, or rejects them (I14)', async () => {
    expect(new Set(allNaughtyStrings).size).toBeGreaterThan(120);
    let kept = 0;
    for (const text of allNaughtyStrings) {
      const changed = await patch({
        first_name: text,
        last_name: `${text}${text}`,
        attributes: { k: text, list: [text], deep: { k: { k: text } } },
      });
      expect([text, [200, 400]]).toEqual([text, expect.arrayContaining([changed.status])]);
      if (changed.status === 400) continue;
      kept++;
      const user = await get();
      expect([user.first_name, user.last_name, user.attributes]).toEqual([
        text,
        text + text,
        { k: text, list: [text], deep: { k: { k: text } } },
      ]);
      for (const query of [
        `first_name=${encodeURIComponent(text)}`,
        `last_name_in=x,${encodeURIComponent((text + text).replace(/,.*/s, ''))}`,
        `attributes.k=${encodeURIComponent(text)}`,
      ]) {
        if (query.startsWith('last_name_in') && text.includes(',')) continue;
        const found = await service.get(`/user/list?user_id=${user_id}&${query}`, { token });
        expect([query, found.body.items?.length]).toEqual([query, 1]);
      }
    }
    expect(kept).toBeGreaterThan(120);
  });

  it('survives naughty strings as keys, names, addresses, ids and search words (I14)', async () => {
    const isHandled = ({ status }: { status: number }) => status < 500 && status !== 413;
    const rest = (text: string) => ({
      phone: text,
      locale: text,
      timezone: text,
      roles: [text],
      allowed_ips: [text],
      status: text,
    });
    const bodies = allNaughtyStrings.flatMap((text): object[] => [
      { attributes: { [text]: 1 } },
      { attributes: { [text]: null } },
      { name: text },
      { email: `a@${text}.com` },
      { [text]: 1 },
      rest(text),
    ]);
    expect(await unexpectedResponses(bodies, JSON.stringify, patch, isHandled)).toEqual([]);
    const names = (index: number) =>
      index % 4 === 0 ? ['q', 'email_like', 'role', 'carrier_id_ne', 'cursor', 'order_by'] : ['q', 'attributes.a'];
    const queries = allNaughtyStrings.flatMap((text, index) =>
      names(index).map((name) => `/user/list?count=none&${name}=${encodeURIComponent(text)}`),
    );
    expect(await unexpectedResponses(queries, String, (url) => service.get(url, { token }), isHandled)).toEqual([]);
    const unknown = allNaughtyStrings.map((text) => ({ url: `/user/list?${encodeURIComponent(text)}=1` }));
    expect(
      await unexpectedResponses(
        unknown,
        ({ url }) => url,
        ({ url }) => service.get(url, { token }),
        is400,
      ),
    ).toEqual([]);
  });

  it('finds no user and changes nothing by SQL and directory strings in every text filter (I16)', async () => {
    const strings = [
      ...(naughtyStrings['sql'] ?? []),
      ...(naughtyStrings['directories'] ?? []),
      "x' union select 1,2--",
      "'||pg_sleep(9)||'",
      "x'); delete from users; --",
    ];
    const before = await service.rows('select count(*)::int, max(version) from users');
    const texts = queryOperations()
      .filter(([method, , names]) => method === 'GET' && names.includes('count'))
      .flatMap(([, path, names]) =>
        names
          .filter((name) =>
            /^(name|email|first_name|last_name|phone|carrier_id|user_agent|event_type|request_id)(_in|_like)?$/.test(
              name,
            ),
          )
          .map((name) => `${path}?count=none&${name}=`),
      );
    expect(texts.length).toBeGreaterThan(15);
    for (const url of texts)
      for (const text of strings) {
        const answer = await service.get(`${url}never${encodeURIComponent(text.replace(/,/g, ''))}`, { token });
        expect([url, text, answer.status, answer.body.items]).toEqual([url, text, 200, []]);
      }
    expect(await service.rows('select count(*)::int, max(version) from users')).toEqual(before);
  });
});
