import type { TestAnswer, TestLogin, TestService } from './service';

type Token = Pick<TestLogin, 'token'>;

/** Returns functions that send rows and users of a carrier, with taken or free names. */
export function probing(service: () => TestService, carrier: () => string) {
  const login = (fields: object = { carrier_id: carrier() }) => service().loginAs({ roles: ['prober'], ...fields });
  const row = (name: string, more: object = {}) => ({
    user_type: 'carrier',
    name,
    email: `${name}@free.example`,
    carrier_id: carrier(),
    ...more,
  });
  const takenRows = (count: number, from = 1) => Array.from({ length: count }, (_, i) => row(`taken-${from + i}`));
  const freeRows = (count: number, prefix: string) => Array.from({ length: count }, (_, i) => row(`${prefix}-${i}`));
  const send = ({ token }: Token, rows: object[], query = ''): Promise<TestAnswer> =>
    service().post(`/user/import?${query}`, {
      token,
      body: rows.map((one) => JSON.stringify(one)).join('\n'),
      headers: { 'content-type': 'application/x-ndjson' },
    });
  const dryRun = (actor: Token, rows: object[], query = '') => send(actor, rows, `dry_run=true&${query}`);
  const create = ({ token }: Token, body: object) => service().post('/user/create', { token, body });
  return { login, row, takenRows, freeRows, send, dryRun, create };
}
