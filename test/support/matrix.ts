import { randomUUID } from 'node:crypto';
import { type Relation, relations } from './access-roles';
import { refreshOverview } from './overview';
import type { TestAnswer, TestLogin, TestService } from './service';

/** The user that a request concerns. */
export interface Person {
  user_id: string;
  name: string;
  session_id: string;
}

/** One cell of the matrix. */
export interface Cell {
  login: TestLogin;
  target: Person;
  relation: Relation;
  /** whether the caller may see the target */
  sees: boolean;
  /** whether the target has a role that the caller may not grant */
  isProtected: boolean;
  /** a System User without scope */
  seesAll: boolean;
  /** a user for whom a second factor is required, and who has none */
  mustEnroll: boolean;
  holds: (permission: string) => boolean;
}

/** An operation and its expected statuses. */
export interface MatrixRow {
  /** null if every login is allowed */
  permission: string | null;
  /** own resources need no permission */
  orSelf?: true;
  duringPasswordChange?: true;
  duringEnrollment?: true;
  related: readonly Relation[];
  send: (cell: Cell) => Promise<TestAnswer>;
  /** the status for a caller with the permission */
  expected: (cell: Cell) => string;
  /** the part of a successful response that is compared beside the status */
  detailOf?: (answer: TestAnswer) => string;
}

/** Returns the rows about operations, roles, API keys, mails, logins, exports and figures. */
export function sharedRows(service: () => TestService): Record<string, MatrixRow> {
  const managed = { ...operationRows(service), ...roleRows(service), ...keyRows(service), ...mailRows(service) };
  return { ...managed, ...loginRows(service), ...exportRows(service) };
}

/** Returns the rows about operations. Each cell requests an operation of its user. */
function operationRows(service: () => TestService): Record<string, MatrixRow> {
  const about = async (method: string, action: string, { login, target }: Cell, permission = 'user:update') => {
    const id = randomUUID();
    await service().rows(
      `
        insert into operations (operation_id, kind, permission, status, actor_id, request, finished_at)
        values ($1, $3, $4, 'done', $2, '{}', now())`,
      [id, target.user_id, permission === 'user:import' ? 'import' : 'change', permission],
    );
    return service().send(method, `/user/operation/${id}${action}`, login);
  };
  const notFound = '404 operation.not_found';
  const expected =
    (then: string, permission = 'user:update') =>
    (cell: Cell) => {
      if (!['user:update', 'user:delete', 'user:import'].some(cell.holds)) return '403 access.denied';
      return cell.holds(permission) && (cell.seesAll || cell.relation === 'own') ? then : notFound;
    };
  const row = (method: string, action: string, then: string): MatrixRow => ({
    permission: null,
    related: relations,
    send: (cell) => about(method, action, cell),
    expected: expected(then),
  });
  return {
    'GET /user/operation/{operation_id}': row('GET', '', '200'),
    'GET /user/operation/{operation_id}/skipped': {
      permission: null,
      related: relations,
      send: (cell) => about('GET', '/skipped', cell, 'user:import'),
      expected: (cell) => {
        const answer = expected('200', 'user:import')(cell);
        // Rows of other actors contain personal values.
        return cell.relation === 'own' || cell.holds('user:read') ? answer : answer.replace('200', notFound);
      },
    },
    'POST /user/operation/{operation_id}/cancel': row('POST', '/cancel', '202'),
    'POST /user/operation/{operation_id}/undo': row('POST', '/undo', '409 operation.not_undoable'),
    'GET /user/operation/list': {
      permission: null,
      related: relations,
      send: async (cell) => {
        await service().rows('delete from operations');
        await about('GET', '', cell);
        return service().get(`/user/operation/list?actor_id=${cell.target.user_id}`, cell.login);
      },
      expected: (cell) => expected('200 found 1')(cell).replace(notFound, '200 found 0'),
      detailOf: ({ body }) => ` found ${body.items?.length}`,
    },
  };
}

/** Returns the rows about roles. Only System Users without scope change them. */
function roleRows(service: () => TestService): Record<string, MatrixRow> {
  const manage = (send: MatrixRow['send'], then: string): MatrixRow => ({
    permission: 'role:manage',
    related: ['own'],
    send,
    expected: ({ seesAll }) => (seesAll ? then : '403 access.denied'),
  });
  const read = (path: string): MatrixRow => ({
    permission: 'role:read',
    related: ['own'],
    send: ({ login }) => service().get(path, login),
    expected: () => '200',
  });
  return {
    'GET /role/list': read('/role/list'),
    'GET /role/{role}': read('/role/administrator'),
    'POST /role/create': manage(
      ({ login: { token } }) =>
        service().post('/role/create', { token, body: { name: 'Auditor', user_types: ['system'] } }),
      '409 role.name_taken',
    ),
    'PATCH /role/{role}': manage(
      ({ login: { token } }) => service().patch('/role/support', { token, body: {} }),
      '200',
    ),
    'DELETE /role/{role}': manage(({ login }) => service().delete('/role/no-such-role', login), '404 role.not_found'),
  };
}

/** Returns the rows about API keys. Each cell requests a key of its user. */
function keyRows(service: () => TestService): Record<string, MatrixRow> {
  const madeBy = async (user_id: string) => {
    const rows = await service().rows<{ key_id: string }>(
      `
        insert into keys (
          key_id, name, token_hash, permissions, user_type, carrier_id, carrier_scope, created_by, expires_at
        )
        select
          uuid_v7(), 'one', gen_random_uuid()::text::bytea, '{}', user_type, carrier_id, carrier_scope, user_id,
          now() + interval '1 hour'
        from users
        where user_id = $1
        returning key_id`,
      [user_id],
    );
    return rows[0]?.key_id ?? randomUUID();
  };
  return {
    'POST /auth/key/create': {
      permission: 'key:manage',
      related: ['own'],
      send: ({ login: { token } }) => {
        const expires_at = new Date(Date.now() + 86_400_000).toISOString();
        return service().post('/auth/key/create', { token, body: { name: 'all', permissions: ['*'], expires_at } });
      },
      expected: ({ holds, seesAll }) => (holds('*') && seesAll ? '201' : '403 access.grant_exceeds_own'),
    },
    'GET /auth/key/list': {
      permission: 'key:manage',
      related: relations,
      send: async ({ login, target }) => {
        await service().rows('delete from keys');
        await madeBy(target.user_id);
        return service().get(`/auth/key/list?created_by=${target.user_id}`, login);
      },
      expected: ({ sees }) => `200 found ${sees ? 1 : 0}`,
      detailOf: ({ body }) => ` found ${body.items?.length}`,
    },
    'DELETE /auth/key/{key_id}': {
      permission: 'key:manage',
      related: relations,
      send: async ({ login, target }) => service().delete(`/auth/key/${await madeBy(target.user_id)}`, login),
      expected: ({ sees }) => (sees ? '204' : '404 key.not_found'),
    },
    'POST /auth/key/{key_id}/resume': {
      permission: 'key:manage',
      related: relations,
      send: async ({ login, target }) => service().post(`/auth/key/${await madeBy(target.user_id)}/resume`, login),
      expected: ({ sees }) => (sees ? '204' : '404 key.not_found'),
    },
  };
}

/** Returns the rows about mails. Each cell requests a waiting mail to its user. */
function mailRows(service: () => TestService): Record<string, MatrixRow> {
  const mailTo = async (user_id: string) => {
    await service().rows(`select graphile_worker.remove_job('matrix')`);
    const [job] = await service().rows<{ mail_id: string }>(
      `
        select ('00000000-0000-8000-8000-' || lpad(to_hex(id), 12, '0')) as mail_id
        from graphile_worker.add_job(
          'send-mail',
          json_build_object('user_id', $1::text, 'mail', 'token-reuse'),
          run_at => now() + interval '1 day',
          job_key => 'matrix'
        )`,
      [user_id],
    );
    return job?.mail_id ?? '';
  };
  return {
    'GET /mail/list': {
      permission: 'mail:manage',
      related: relations,
      send: async ({ login, target }) => service().get(`/mail/list?mail_id=${await mailTo(target.user_id)}`, login),
      expected: ({ sees }) => `200 found ${sees ? 1 : 0}`,
      detailOf: ({ body }) => ` found ${body.items?.length}`,
    },
    'POST /mail/{mail_id}/retry': {
      permission: 'mail:manage',
      related: relations,
      send: async ({ login, target }) => service().post(`/mail/${await mailTo(target.user_id)}/retry`, login),
      expected: ({ sees }) => (sees ? '202' : '404 mail.not_found'),
    },
  };
}

/** Returns the rows about lockouts and own passwords. */
function loginRows(service: () => TestService): Record<string, MatrixRow> {
  return {
    'POST /user/{user_id}/unlock': {
      permission: 'user:update',
      related: relations,
      send: ({ login, target }) => service().post(`/user/${target.user_id}/unlock`, login),
      expected: ({ sees, isProtected, relation }) => {
        if (relation === 'own') return '403 user.self_protected';
        if (!sees) return '404 user.not_found';
        return isProtected ? '403 access.protected_user' : '204';
      },
    },
    'POST /auth/password': {
      permission: null,
      duringPasswordChange: true,
      duringEnrollment: true,
      related: ['own'],
      send: ({ login: { token } }) =>
        service().post('/auth/password', {
          token,
          body: { current_password: 'wrong', new_password: 'wrong horse battery staple' },
        }),
      expected: () => '400 auth.wrong_current_password',
    },
    'POST /auth/email': {
      permission: null,
      related: ['own'],
      send: ({ login: { token } }) =>
        service().post('/auth/email', { token, body: { current_password: 'wrong', email: 'new@example.com' } }),
      expected: () => '400 auth.wrong_current_password',
    },
    'POST /auth/reauthenticate': {
      permission: null,
      duringEnrollment: true,
      related: ['own'],
      send: ({ login: { token } }) => service().post('/auth/reauthenticate', { token, body: { password: 'wrong' } }),
      expected: () => '400 auth.wrong_current_password',
    },
  };
}

/** Returns the rows about exports and figures. */
function exportRows(service: () => TestService): Record<string, MatrixRow> {
  const exported = (send: MatrixRow['send']): MatrixRow => ({
    permission: 'user:export',
    related: relations,
    send,
    expected: ({ sees }) => `200 found ${sees ? 1 : 0}`,
    detailOf: ({ text }) => ` found ${text.split('\r\n').length - 2}`,
  });
  return {
    'GET /user/export': exported(({ login, target }) => service().get(`/user/export?user_id=${target.user_id}`, login)),
    'POST /user/export/link': exported(async ({ login: { token }, target }) => {
      const link = await service().post(`/user/export/link?user_id=${target.user_id}`, { token });
      return link.status === 201 ? service().get(new URL(link.body.url as string).pathname) : link;
    }),
    'GET /carrier/list': {
      permission: 'user:read',
      related: ['own'],
      send: ({ login }) => service().get('/carrier/list?carrier_id_in=c1,c2', login),
      expected: ({ seesAll }) => `200 ${seesAll ? 'c1 c2' : 'c1'}`,
      detailOf: ({ body }) => ` ${(body.items as { carrier_id: string }[]).map((one) => one.carrier_id).join(' ')}`,
    },
    'GET /stats/overview': {
      permission: 'user:read',
      related: ['own'],
      // A job may have counted before the users of this test existed.
      send: async ({ login }) => {
        await refreshOverview(service());
        return service().get('/stats/overview', login);
      },
      expected: ({ seesAll }) => `200 ${seesAll ? 'system carrier' : 'carrier'}`,
      detailOf: ({ body }) =>
        ` ${[...new Set((body.users as { user_type: string }[]).map((one) => one.user_type))].join(' ')}`,
    },
  };
}
