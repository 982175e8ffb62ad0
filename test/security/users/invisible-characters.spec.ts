import { TestService } from '../../support/service';
import { unexpectedResponses } from '../../support/unexpected-responses';

describe('invisible characters', () => {
  let service: TestService;
  let token: string;
  let user_id: string;
  const patch = (body: unknown) => service.patch(`/user/${user_id}`, { token, body });
  const is400 = ({ status }: { status: number }) => status === 400;

  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    ({ user_id } = await service.createUser());
  });
  afterAll(() => service.close());

  it('rejects invisible characters in every free text, so that no name is blank or a look-alike (I18)', async () => {
    const fillers = [
      '\u3164',
      '\u115f',
      '\u1160',
      '\uffa0',
      '\u2800',
      '\u00ad',
      '\u034f',
      '\u17b4',
      '\u180b',
      '\u2061',
      '\u2064',
    ];
    const tags = [
      '\u{e0001}',
      '\u{e0020}',
      '\u{e0041}',
      '\u{e007f}',
      '\u{e0100}',
      '\u{e01ef}',
      '\ufe00',
      '\ufe0e',
      '\ufe0f',
      '\u{1d173}',
    ];
    const hidden = [...fillers, ...tags, '\u200c', '\u200d'];
    const names = hidden.flatMap((character) =>
      ['first_name', 'last_name'].flatMap((field) => [
        { [field]: character },
        { [field]: `Ada${character}` },
        { [field]: `A${character}da` },
      ]),
    );
    expect(await unexpectedResponses(names, JSON.stringify, patch, is400)).toEqual([]);
    const role = { name: 'seen', user_types: ['carrier'] };
    const created = await service.post('/role/create', { token, body: role });
    expect(created.status).toBe(201);
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const requests = hidden.flatMap((character): [string, string, object][] => [
      ['POST', '/role/create', { ...role, name: 'unseen', description: `Ada${character}` }],
      ['PATCH', '/role/seen', { description: character }],
      ['POST', '/auth/key/create', { name: `billing${character}`, permissions: ['user:read'], expires_at }],
    ]);
    const send = ([method, url, body]: (typeof requests)[number]) => service.send(method, url, { token, body });
    expect(await unexpectedResponses(requests, JSON.stringify, send, is400)).toEqual([]);
    const file = hidden
      .map((character, index) => `carrier,c1,hidden${index},hidden${index}@example.com,Ada${character}`)
      .join('\n');
    const imported = await service.send('POST', '/user/import', {
      token,
      headers: { 'content-type': 'text/csv' },
      body: `user_type,carrier_id,name,email,first_name\n${file}\n`,
    });
    expect(imported.body).toMatchObject({ changed: 0, skipped_count: hidden.length });
  });

  it('accepts joiners and emoji selectors where a script or an emoji needs them (I18)', async () => {
    for (const name of [
      'علی\u200cرضا',
      'ශ්\u200dරී',
      'क्\u200dष',
      '👩🏽\u200d🚀',
      '❤\ufe0f\u200d🔥',
      '김',
      'Zoë',
      'O’Neill',
      '葛城',
    ]) {
      expect([name, (await patch({ first_name: name, last_name: name })).status]).toEqual([name, 200]);
      expect((await service.get(`/user/${user_id}`, { token })).body.first_name).toBe(name);
    }
  });
});
