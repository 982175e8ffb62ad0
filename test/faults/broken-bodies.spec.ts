import { chunk, RawConnection, requestHead } from '../support/raw-connection';
import { adminEmail, appSecret, password } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

jest.setTimeout(120_000);

interface Line {
  level: string;
  msg: string;
  reqId?: string;
  status?: number;
}

const paths = ['/auth/login', '/auth/check-token', '/user/create', '/user/import', '/nowhere'];
const types = { json: 'application/json', csv: 'text/csv' };
const framings = {
  'content-length': { headers: { 'content-length': '4000' }, begin: (text: string) => text },
  chunked: { headers: { 'transfer-encoding': 'chunked' }, begin: chunk },
};

describe('broken request bodies', () => {
  let database: TestDatabase;
  let service: ServiceProcess;
  let token: string;
  beforeAll(async () => {
    database = await createTestDatabase();
    const admin = { ADMIN_EMAIL: adminEmail, ADMIN_PASSWORD: password };
    service = await ServiceProcess.start({
      DATABASE_URL: database.url,
      APP_SECRET: appSecret,
      LOG_LEVEL: 'debug',
      ...admin,
    });
    const { body } = await service.send('POST', '/auth/login', { body: { login: adminEmail, password } });
    token = body.access_token as string;
  });
  afterAll(async () => {
    await service.kill();
    await database.drop();
  });

  const lines = (): Line[] =>
    service.stdout
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line);

  it.each(['reset', 'end'] as const)(
    'logs no warning and no 5xx when clients %s the connection within a body (F18)',
    async (how) => {
      const broken: string[] = [];
      for (const path of paths)
        for (const [name, type] of Object.entries(types))
          for (const [framing, { headers, begin }] of Object.entries(framings))
            for (const authorization of [undefined, `Bearer ${token}`]) {
              const id = [
                how,
                path.slice(1).replace('/', '-'),
                name,
                framing,
                authorization === undefined ? 'anyone' : 'admin',
              ].join('.');
              const connection = await RawConnection.open(Number(new URL(service.url).port));
              const text = name === 'json' ? '{"login":"a"' : 'user_type,name,email,carrier_id\ncarrier,a,';
              await connection.send(
                requestHead('POST', path, { 'x-request-id': id, 'content-type': type, authorization, ...headers }) +
                  begin(text),
              );
              // A file is rejected before it is read, unless the guard allows the request.
              const isRead = name === 'json' || (path === '/user/import' && authorization !== undefined);
              if (isRead) broken.push(id);
              else await service.until(() => connection.status > 0);
              // A response to another request shows that the service has read the sent bytes.
              await service.send('GET', '/health/live');
              if (how === 'reset') connection.socket.resetAndDestroy();
              else connection.socket.end();
            }
      await service.until(() => broken.every((id) => lines().some(({ reqId }) => reqId === id)));
      expect(lines().filter(({ level, status = 0 }) => !['info', 'debug'].includes(level) || status >= 500)).toEqual(
        [],
      );
    },
  );
});
