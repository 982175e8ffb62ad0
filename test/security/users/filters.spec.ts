import { document } from '../../support/document';
import { TestService } from '../../support/service';

const lists = ['/user/list', '/auth/session/list', '/audit/list'];
const paging = ['order_by', 'order_dir', 'per_page', 'page', 'cursor', 'count', 'deleted'];

interface ScalarSchema {
  type?: string;
  format?: string;
  enum?: string[];
}
interface Parameter {
  name: string;
  schema: ScalarSchema & { items?: ScalarSchema };
}

function documentedFilters(path: string): Parameter[] {
  const all = (document.paths[path]?.['get']?.parameters ?? []) as unknown as Parameter[];
  return all.filter(({ name }) => !paging.includes(name));
}

const injections = [
  ...[
    "'",
    "''",
    '"',
    '\\',
    '`',
    "' or '1'='1",
    "' or 1=1--",
    '" or ""="',
    "') or ('1'='1",
    "'; drop table users; --",
    '1; select pg_sleep(3)--',
  ],
  ...[
    "' || pg_sleep(3) || '",
    "' and 1=(select 1 from pg_sleep(3))--",
    "%' or '%'='",
    '$1',
    '$$;select 1$$',
    '${1}',
    ':name',
    '?',
    "\\'; --",
  ],
  ...[
    "' union select password_hash from credentials--",
    "'||(select version())||'",
    '/**/or/**/1=1',
    "E'\\x27'",
    "U&'\\0027'",
    'null',
    '{}',
    '{"a":1}',
  ],
  ...[
    "', now())--",
    '1) or (1=1',
    'array[1]',
    "x' or users.deleted_at is null or 'x'='",
    '\u02bc or 1=1--',
    '％＇',
    '-- ',
    '#',
    "admin'--",
  ],
];

describe('hostile filters and sorts', () => {
  let service: TestService;
  let token: string;
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
  });
  afterAll(() => service.close());

  const get = (path: string, query: string) => service.get(`${path}?${query}`, { token });

  it('takes SQL in values literally in every documented filter of every list (B7)', async () => {
    const [{ count } = { count: 0 }] = await service.rows<{ count: number }>(
      'select count(*)::int as count from users',
    );
    let sent = 0;
    for (const path of lists) {
      for (const { name, schema } of documentedFilters(path)) {
        for (const text of injections.filter((_text, index) => (index + sent) % 4 === 0)) {
          const began = performance.now();
          const { status, body } = await get(path, `${name}=${encodeURIComponent(text)}&count=none&per_page=5`);
          expect([name, text, performance.now() - began < 2_500]).toEqual([name, text, true]);
          const { type, format, enum: values } = schema.items ?? schema;
          const free = type === 'string' && format === undefined && values === undefined;
          expect([name, text, status === 400 || (free && status === 200)]).toEqual([name, text, true]);
          if (status === 200 && !name.endsWith('_ne')) expect([name, text, body.items]).toEqual([name, text, []]);
        }
        sent++;
      }
    }
    expect(sent).toBeGreaterThan(150);
    expect(await service.rows('select count(*)::int as count from users')).toEqual([{ count }]);
  });

  it('finds by SQL in a value only the user of that name (B7)', async () => {
    const texts = injections.filter((text) => [...text.trim()].length >= 3);
    const ids = new Map<string, string>();
    for (const text of texts) {
      const { user_id } = await service.createUser({ last_name: text, attributes: { key: text } });
      ids.set(text, user_id);
    }
    const found = async (query: string) =>
      (await get('/user/list', query)).body.items.map((item: { user_id: string }) => item.user_id);
    for (const [text, user_id] of ids) {
      const value = encodeURIComponent(text);
      expect([text, await found(`last_name=${value}`)]).toEqual([text, [user_id]]);
      expect([text, await found(`attributes.key=${value}`)]).toEqual([text, [user_id]]);
      const containing = texts
        .filter((other) => other.toLowerCase().includes(text.toLowerCase()))
        .map((other) => ids.get(other));
      expect([text, (await found(`last_name_like=${value}`)).sort()]).toEqual([text, containing.sort()]);
    }
  });

  it('rejects SQL in names of parameters and attributes (B7)', async () => {
    for (const name of [
      "name'",
      'name"',
      'name;',
      'users.name',
      'name::text',
      'lower(name)',
      'name=name or 1',
      'attributes',
      "attributes.a'b",
      'attributes.a.b',
    ]) {
      for (const value of ['1', "' or '1'='1"]) {
        const answer = await get('/user/list', `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
        expect([name, answer.status, answer.body.errors[0].code]).toEqual([name, 400, 'parameter.unknown']);
      }
    }
  });

  it('accepts only the documented sorts (B8)', async () => {
    const sorts = [
      ...[
        'email;drop',
        'email) desc,(select 1',
        '(CASE WHEN 1=1 THEN name ELSE email END)',
        'name desc',
        'name,email',
        'name--',
        '1',
        'users.name',
        'NAME',
      ],
      ...[
        'lower(name)',
        'password_hash',
        'search_text',
        'attributes',
        'attributes.tier',
        'roles',
        'constructor',
        '__proto__',
        'toString',
        'name%00',
        ' name',
        '',
      ],
    ];
    const directions = [
      'asc nulls first',
      'asc;',
      'ASC',
      'desc,name',
      '1',
      'asc--',
      'descending',
      '',
      ' asc',
      'constructor',
    ];
    for (const path of lists) {
      for (const [parameter, values] of [['order_by', sorts] as const, ['order_dir', directions] as const]) {
        for (const value of values) {
          const answer = await get(path, `${parameter}=${value.includes('%') ? value : encodeURIComponent(value)}`);
          expect([value, answer.status, answer.body.errors[0].parameter]).toEqual([value, 400, parameter]);
        }
      }
      for (const odd of [
        'order_by[]=name',
        'order_by[name]=asc',
        'order[name]=asc',
        'sort=name',
        'sort[email]=asc',
        'fields=name',
        'group_by=name',
        'select=*',
        'limit=1',
        'offset=1',
      ])
        expect([odd, (await get(path, odd)).status]).toEqual([odd, 400]);
    }
  });

  it('rejects secrets as filter or sort (B9)', async () => {
    const secrets = [
      'password',
      'password_hash',
      'token_hash',
      'refresh_token_hash',
      'previous_refresh_token_hash',
      'mfa_secret',
      'private_key',
      'search_text',
    ];
    for (const name of [
      ...secrets,
      'email_pending',
      'credentials.password_hash',
      'version',
      'may_grant',
      'permissions',
      'changes',
      'changes.email',
    ]) {
      for (const path of [...lists, '/user/all', '/auth/session/all']) {
        for (const suffix of ['', '_like', '_ne', '_in', '_gt', '_isnull']) {
          const method = path.endsWith('/all') ? 'DELETE' : 'GET';
          const answer = await service.send(method, `${path}?${name}${suffix}=%24argon2id`, { token });
          expect([path, name + suffix, answer.status, answer.body.errors?.[0].code]).toEqual([
            path,
            name + suffix,
            400,
            'parameter.unknown',
          ]);
        }
      }
      for (const path of lists) expect([name, (await get(path, `order_by=${name}`)).status]).toEqual([name, 400]);
    }
  });

  it('rejects undocumented operators (B10)', async () => {
    const odd = [
      ...[
        'email[$like]=%25',
        'email[raw]=1',
        'email[]=a@b.cc',
        'email[$ne]=',
        'email[$regex]=.*',
        'email[0]=a',
        'email[a][b][c][d][e]=1',
        'email.$ne=1',
      ],
      ...[
        'email__like=abc',
        'email_ilike=abc',
        'email_not=abc',
        'email_regex=.*',
        'email_gt=a',
        'name_isnull=true',
        'status_like=act',
        'role_like=adm',
        'role_ne=a',
      ],
      ...[
        'online_gt=true',
        'user_id_like=abc',
        'created_at_like=202',
        'user_id_gt=a',
        'carrier_id_gt=a',
        'last_login_ip_like=127',
        'email!=a',
        'email>=a',
        'email~=a',
      ],
      ...[
        'q_ne=abc',
        'attributes.a_ne=1',
        'attributes.a.b=1',
        'attributes[a]=1',
        'created_at_between=a,b',
        'OR=1',
        'and=1',
        'deleted_ne=true',
        'deleted=false',
      ],
    ];
    for (const query of odd) {
      const { status, body } = await get('/user/list', query);
      const harmless = query === 'attributes.a_ne=1';
      expect([query, status, body.items ?? 'refused']).toEqual([
        query,
        harmless ? 200 : 400,
        harmless ? [] : 'refused',
      ]);
    }
  });
});
