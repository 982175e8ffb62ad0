import { randomUUID } from 'node:crypto';
import { accessTokenOf } from '../data/made-logins';
import { refreshOverview } from '../data/overview';
import type { TestAnswer, TestLogin, TestService } from '../service';

/** The owner of the requested resource in relation to the caller. */
const relations = ['own', 'same carrier', 'other carrier', 'system user', 'missing'] as const;
/** One of `relations`. */
export type Relation = (typeof relations)[number];

/** A role in the matrix. */
interface Role {
  fields: Record<string, unknown>;
  holds: 'all' | string[];
  /** users that the role may see */
  sees: Relation[];
  /** users with roles that the role may not grant */
  mayNotChange: Relation[];
  /** allows nothing until the password is changed */
  mustChangePassword?: true;
  /** allows little until a second factor is enrolled */
  mustEnroll?: true;
}

/** The common permissions of `operator` and `carrier_administrator`. */
const manages = [
  ...['user:read', 'user:read_deleted', 'user:create', 'user:update', 'user:delete', 'user:reset_factors'],
  ...['session:read', 'session:revoke', 'role:read'],
];
const everyUser: Relation[] = ['own', 'same carrier', 'other carrier', 'system user'];
const ownCarrier: Relation[] = ['own', 'same carrier'];

const system = (fields: object, holds: Role['holds'], mayNotChange: Relation[] = []): Role => ({
  ...{ fields: { user_type: 'system', ...fields }, holds, sees: everyUser, mayNotChange },
});
const scoped = (role: string, holds: Role['holds']): Role => ({
  ...system({ roles: [role], carrier_scope: ['c1'] }, holds),
  sees: ownCarrier,
});
const ofCarrier = (role: string, holds: string[]): Role => ({
  ...{ fields: { roles: [role] }, holds, sees: ownCarrier, mayNotChange: [] },
});
const operates = [...manages, 'user:import', 'user:export', 'audit:read', 'mail:manage', 'address_block:manage'];
const administrators: Relation[] = ['other carrier', 'system user'];

/**
 * The roles of the matrix. The user of the same carrier (`c1`) is a `carrier_user`, the one of
 * another carrier (`c2`) a `carrier_administrator`, and the System User an `administrator`.
 */
export const callers: Record<string, Role> = {
  administrator: system({ roles: ['administrator'] }, 'all'),
  'scoped administrator': scoped('administrator', 'all'),
  operator: system({ roles: ['operator'] }, operates, ['system user']),
  'scoped operator': scoped('operator', operates),
  auditor: system(
    { roles: ['auditor'] },
    ['user:read', 'user:read_deleted', 'session:read', 'role:read', 'audit:read'],
    administrators,
  ),
  'System User without roles': system({}, [], administrators),
  'custom role support': system(
    { roles: ['support'] },
    ['user:read', 'user:update', 'session:revoke', 'key:manage', 'token:introspect'],
    administrators,
  ),
  carrier_administrator: ofCarrier('carrier_administrator', manages),
  carrier_user: ofCarrier('carrier_user', []),
  'custom role carrier_auditor': ofCarrier('carrier_auditor', [
    ...['user:read', 'session:read', 'audit:read', 'user:delete', 'key:manage', 'token:introspect'],
  ]),
  'administrator who must change the password': {
    ...system({ roles: ['administrator'], must_change_password: true }, 'all'),
    mustChangePassword: true,
  },
  'administrator who must enrol a second factor': {
    ...system({ roles: ['administrator'], second_factor_required_from: '2020-01-01T00:00:00Z' }, []),
    mustEnroll: true,
  },
};

/** Roles that the platform adds to the built-in ones. */
export const customRoles = `insert into roles (name, user_types, permissions) values
  ('support', '{system}', '{user:read,user:update,session:revoke,key:manage,token:introspect}'),
  ('carrier_auditor', '{carrier}', '{user:read,session:read,audit:read,user:delete,key:manage,token:introspect}')`;

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
  holds: (permission: string) => boolean;
}

type Send = (cell: Cell) => Promise<TestAnswer>;
type Expected = (cell: Cell) => string;

/** An operation and its expected statuses. */
export interface MatrixRow {
  /** null if every login is allowed */
  permission: string | null;
  /** own resources need no permission */
  orSelf?: true;
  duringPasswordChange?: true;
  /** the status for a caller who must enrol a second factor; by default a rejection */
  duringEnrollment?: string;
  related: readonly Relation[];
  send: Send;
  /** the status for a caller with the permission */
  expected: Expected;
  /** the part of a successful response that is compared beside the status */
  detailOf: ((answer: TestAnswer) => string) | undefined;
}

const always = (status: string) => () => status;
const existing =
  (then: Expected, missing = '404 user.not_found'): Expected =>
  (cell) =>
    cell.sees ? then(cell) : missing;
const protectedOr =
  (then: string): Expected =>
  ({ isProtected }) =>
    isProtected ? '403 access.protected_user' : then;
const ownOr =
  (own: string, then: Expected): Expected =>
  (cell) =>
    cell.relation === 'own' ? own : then(cell);
const count = (name: string): Expected => existing(always(`200 ${name} 1`), `200 ${name} 0`);
const found = ({ body }: TestAnswer) => ` found ${body.items?.length}`;
const matchedOne: Expected = ({ isProtected }) => `200 matched 1 ${isProtected ? 'access.protected_user' : ''}`;
const matched = ({ body }: TestAnswer) =>
  ` matched ${body.matched} ${(body.skipped as { reason: string }[]).map(({ reason }) => reason).join()}`;

/** Returns a row about every kind of user. */
const onUsers = (
  permission: string | null,
  send: Send,
  expected: Expected,
  detailOf?: MatrixRow['detailOf'],
): MatrixRow => ({ permission, related: relations, send, expected, detailOf });
/** Returns a row about other users. The operation rejects the caller's own user. */
const onOthers = (permission: string, send: Send, status: string) =>
  onUsers(permission, send, existing(ownOr('403 user.self_protected', protectedOr(status))));
/** Returns a row about the caller or about no user. */
const own = (
  permission: string | null,
  send: Send,
  expected: string | Expected,
  more: Partial<MatrixRow> = {},
): MatrixRow => ({
  ...{ permission, related: ['own'], send, detailOf: undefined },
  ...{ expected: typeof expected === 'string' ? always(expected) : expected, ...more },
});

/** Returns the rows of all operations that need a login. */
export function matrixRows(service: TestService): Record<string, MatrixRow> {
  /** Sends a request about the target, such as `GET /user/:user`. */
  const call =
    (request: string, body?: object): Send =>
    ({ login: { token }, target: { user_id, session_id } }) => {
      const [method = '', url = ''] = request.replace(':user', user_id).replace(':session', session_id).split(' ');
      return service.send(method, url, { token, body });
    };
  /** Inserts a row about the target, whose id is `$1`, and sends a request about the row. */
  const callInserted =
    (insert: string, request: string, body?: object): Send =>
    async (cell) => {
      const { rows } = await service.sql.query<{ id: string }>(insert, [cell.target.user_id]);
      return call(request.replace(':id', rows[0]?.id ?? randomUUID()), body)(cell);
    };
  const rows = { ...userRows(), ...sessionRows(), ...roleRows(), ...keyRows(), ...webhookRows(), ...operationRows() };
  return { ...rows, ...attackRows(), ...mailRows(), ...factorRows(), ...ownRows() };

  function userRows(): Record<string, MatrixRow> {
    /** Returns the type and the carrier of a new user in relation to the caller. */
    const typeOf = (relation: Relation) =>
      relation === 'system user'
        ? { user_type: 'system' }
        : { user_type: 'carrier', carrier_id: relation === 'same carrier' ? 'c1' : 'c2' };
    const newUsers: Relation[] = ['same carrier', 'other carrier', 'system user'];
    const timezone = { timezone: 'Europe/Vienna' };
    const exported = (send: Send) =>
      onUsers('user:export', send, count('found'), ({ text }) => ` found ${text.split('\r\n').length - 2}`);
    return {
      'GET /user/{user_id}': {
        ...onUsers('user:read', call('GET /user/:user'), existing(always('200'))),
        orSelf: true,
      },
      'PATCH /user/{user_id}': {
        ...onUsers('user:update', call('PATCH /user/:user', timezone), existing(protectedOr('200'))),
        orSelf: true,
      },
      'DELETE /user/{user_id}': onOthers('user:delete', call('DELETE /user/:user'), '204'),
      'POST /user/{user_id}/restore': onUsers(
        'user:delete',
        async (cell) => {
          if (cell.relation !== 'own')
            await service.rows('update users set deleted_at = now() where user_id = $1', [cell.target.user_id]);
          return call('POST /user/:user/restore')(cell);
        },
        existing(ownOr('404 user.not_found', protectedOr('200'))),
      ),
      'POST /user/{user_id}/invite': onUsers(
        'user:update',
        call('POST /user/:user/invite'),
        existing(protectedOr('400 request.invalid')),
      ),
      'GET /user/{user_id}/login-check': onUsers(
        'user:read',
        call('GET /user/:user/login-check'),
        existing(({ holds }) => `200 ${holds('mail:manage')} ${holds('audit:read')}`),
        ({ body: { mails, recent_refusals } }) => ` ${mails !== undefined} ${recent_refusals !== undefined}`,
      ),
      'POST /user/{user_id}/unlock': onOthers('user:update', call('POST /user/:user/unlock'), '204'),
      'POST /user/{user_id}/secure': onOthers(
        'user:update',
        call('POST /user/:user/secure', { factors: 'keep', keys: 'keep' }),
        '200',
      ),
      'POST /user/create': {
        // The name is taken, so that no user is created.
        ...onUsers(
          'user:create',
          ({ login: { token }, target: { name }, relation }) =>
            service.post('/user/create', { token, body: { name, email: `${name}@x.example`, ...typeOf(relation) } }),
          existing(always('409 user.name_taken'), '403 access.denied'),
        ),
        related: newUsers,
      },
      'POST /user/import': {
        ...onUsers(
          'user:import',
          ({ login: { token }, target: { name }, relation }) => {
            const body = JSON.stringify({ name, email: `${name}@x.example`, ...typeOf(relation) });
            const headers = { 'content-type': 'application/x-ndjson' };
            return service.post('/user/import?dry_run=true', { token, body, headers });
          },
          existing(always('200 user.name_taken'), '200 access.denied'),
          ({ body }) => ` ${Object.keys(body.skipped_reasons as object).join()}`,
        ),
        related: newUsers,
      },
      'GET /user/list': onUsers('user:read', call('GET /user/list?user_id=:user'), count('found'), found),
      'PATCH /user/all': onUsers(
        'user:update',
        call('PATCH /user/all?user_id=:user', timezone),
        existing(matchedOne, '200 matched 0 '),
        matched,
      ),
      'DELETE /user/all': onUsers(
        'user:delete',
        call('DELETE /user/all?user_id=:user'),
        existing(ownOr('200 matched 1 user.self_protected', matchedOne), '200 matched 0 '),
        matched,
      ),
      'GET /user/export': exported(call('GET /user/export?user_id=:user')),
      'POST /user/export/link': exported(async (cell) => {
        const link = await call('POST /user/export/link?user_id=:user')(cell);
        return link.status === 201 ? service.get(new URL(link.body.url as string).pathname) : link;
      }),
      'GET /carrier/list': own(
        'user:read',
        call('GET /carrier/list?carrier_id_in=c1,c2'),
        ({ seesAll }) => `200 ${seesAll ? 'c1 c2' : 'c1'}`,
        {
          detailOf: ({ body }) =>
            ` ${(body.items as { carrier_id: string }[]).map(({ carrier_id }) => carrier_id).join(' ')}`,
        },
      ),
      'GET /stats/overview': own(
        'user:read',
        // A job may have counted before the users of this test existed.
        async (cell) => {
          await refreshOverview(service);
          return call('GET /stats/overview')(cell);
        },
        ({ seesAll }) => `200 ${seesAll ? 'system carrier' : 'carrier'}`,
        {
          detailOf: ({ body }) =>
            ` ${[...new Set((body.users as { user_type: string }[]).map(({ user_type }) => user_type))].join(' ')}`,
        },
      ),
    };
  }

  function sessionRows(): Record<string, MatrixRow> {
    return {
      'GET /auth/session/list': onUsers(
        null,
        call('GET /auth/session/list?session_id=:session'),
        ownOr('200 found 1', ({ sees, holds }) => `200 found ${sees && holds('session:read') ? 1 : 0}`),
        found,
      ),
      'DELETE /auth/session/{session_id}': onUsers(
        null,
        call('DELETE /auth/session/:session'),
        ownOr('204', (cell) =>
          cell.sees && cell.holds('session:revoke') ? protectedOr('204')(cell) : '404 session.not_found',
        ),
      ),
      'DELETE /auth/session/all': onUsers(
        null,
        call('DELETE /auth/session/all?session_id=:session'),
        ownOr('200 ended 1', ({ sees, isProtected, holds }) => {
          return `200 ended ${sees && !isProtected && holds('session:revoke') ? 1 : 0}`;
        }),
        ({ body }) => ` ended ${body.ended}`,
      ),
      'POST /auth/introspect': onUsers(
        null,
        async ({ login: { token }, target }) => {
          const headers = { 'content-type': 'application/x-www-form-urlencoded' };
          const body = `token=${await accessTokenOf(service, target)}`;
          return service.post('/auth/introspect', { token, headers, body });
        },
        ownOr('200 active true', ({ sees, holds }) => `200 active ${sees && holds('token:introspect')}`),
        ({ body }) => ` active ${body.active}`,
      ),
      'GET /change/list': own('change:read', call('GET /change/list?per_page=1'), '200'),
      'GET /audit/list': onUsers(
        'audit:read',
        call('GET /audit/list?event_type=user.created&target_id=:user'),
        count('found'),
        found,
      ),
    };
  }

  /** Only System Users without scope change roles. */
  function roleRows(): Record<string, MatrixRow> {
    const manage = (request: string, body: object | undefined, status: string) =>
      own('role:manage', call(request, body), ({ seesAll }) => (seesAll ? status : '403 access.denied'));
    return {
      'GET /role/list': own('role:read', call('GET /role/list'), '200'),
      'GET /role/{role}': own('role:read', call('GET /role/administrator'), '200'),
      'POST /role/create': manage(
        'POST /role/create',
        { name: 'Auditor', user_types: ['system'] },
        '409 role.name_taken',
      ),
      'PATCH /role/{role}': manage('PATCH /role/support', {}, '200'),
      'DELETE /role/{role}': manage('DELETE /role/no-such-role', undefined, '404 role.not_found'),
    };
  }

  function keyRows(): Record<string, MatrixRow> {
    const insert = `
      with gone as (delete from keys)
      insert into keys (
        key_id, name, token_hash, permissions, user_type, carrier_id, carrier_scope, created_by, expires_at
      )
      select
        uuid_v7(), 'one', gen_random_uuid()::text::bytea, '{}', user_type, carrier_id, carrier_scope, user_id,
        now() + interval '1 hour'
      from users
      where user_id = $1
      returning key_id as id`;
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const onKeys = (request: string, status = '204', body?: object) =>
      onUsers('key:manage', callInserted(insert, request, body), existing(always(status), '404 key.not_found'));
    return {
      'POST /auth/key/create': own(
        'key:manage',
        call('POST /auth/key/create', { name: 'all', permissions: ['*'], expires_at }),
        ({ holds, seesAll }) => (holds('*') && seesAll ? '201' : '403 access.grant_exceeds_own'),
      ),
      'GET /auth/key/list': onUsers(
        'key:manage',
        callInserted(insert, 'GET /auth/key/list?created_by=:user'),
        count('found'),
        found,
      ),
      'DELETE /auth/key/{key_id}': onKeys('DELETE /auth/key/:id'),
      'POST /auth/key/{key_id}/resume': onKeys('POST /auth/key/:id/resume'),
      'POST /auth/key/{key_id}/rotate': onKeys('POST /auth/key/:id/rotate', '200', { keep_old_seconds: 60 }),
    };
  }

  function webhookRows(): Record<string, MatrixRow> {
    const insert = `
      with gone as (delete from webhooks)
      insert into webhooks (
        webhook_id, url, type_in, include_values, user_type, carrier_id, created_by, secret,
        place_tx, place_id, place_at
      )
      select
        uuid_v7(), 'https://one.example', '{role.deleted}', false, user_type, carrier_id, user_id, '', '9999999999',
        uuid_v7(), now()
      from users
      where user_id = $1
      returning webhook_id as id`;
    const on = (request: string, status: string, body?: object) =>
      onUsers('webhook:manage', callInserted(insert, request, body), existing(always(status), '404 webhook.not_found'));
    const missing = `/webhook/:id/delivery/${randomUUID()}/retry`;
    return {
      'POST /webhook/create': own(
        'webhook:manage',
        call('POST /webhook/create', { url: 'https://one.example', include_values: true }),
        '201',
      ),
      'GET /webhook/list': onUsers(
        'webhook:manage',
        callInserted(insert, 'GET /webhook/list?created_by=:user'),
        count('found'),
        found,
      ),
      'GET /webhook/{webhook_id}': on('GET /webhook/:id', '200'),
      'PATCH /webhook/{webhook_id}': on('PATCH /webhook/:id', '200', {}),
      'DELETE /webhook/{webhook_id}': on('DELETE /webhook/:id', '204'),
      'POST /webhook/{webhook_id}/test': on('POST /webhook/:id/test', '202'),
      'POST /webhook/{webhook_id}/disable': on('POST /webhook/:id/disable', '202'),
      'POST /webhook/{webhook_id}/enable': on('POST /webhook/:id/enable', '202', {}),
      'POST /webhook/{webhook_id}/replay': on('POST /webhook/:id/replay', '202', { after: new Date().toISOString() }),
      'POST /webhook/{webhook_id}/skip': on('POST /webhook/:id/skip', '202'),
      'POST /webhook/{webhook_id}/rotate-secret': on('POST /webhook/:id/rotate-secret', '200', { keep_old_seconds: 0 }),
      'GET /webhook/{webhook_id}/delivery/list': on('GET /webhook/:id/delivery/list', '200'),
      'POST /webhook/{webhook_id}/delivery/{delivery_id}/retry': on(`POST ${missing}`, '404 delivery.not_found'),
    };
  }

  /** Blocks concern every carrier. Attacks are within the scope of the caller. */
  function attackRows(): Record<string, MatrixRow> {
    const insert = `
      insert into address_blocks (address_block_id, network, created_by, expires_at)
      values (uuid_v7(), '198.51.100.7', $1, now() + interval '1 minute')
      returning address_block_id as id`;
    const body = { network: '198.51.100.8', expires_at: new Date(Date.now() + 3_600_000).toISOString() };
    const blocks = (send: Send, status: string): MatrixRow =>
      own('address_block:manage', send, ({ seesAll }) => (seesAll ? status : '403 access.denied'));
    return {
      'POST /address-block/create': blocks(call('POST /address-block/create', body), '201'),
      'GET /address-block/list': blocks(call('GET /address-block/list'), '200'),
      'DELETE /address-block/{address_block_id}': blocks(callInserted(insert, 'DELETE /address-block/:id'), '204'),
      'GET /stats/attacks': own('audit:read', call('GET /stats/attacks'), '200'),
    };
  }

  /** Each cell requests an operation of its user. */
  function operationRows(): Record<string, MatrixRow> {
    const insert = (permission = 'user:update') => `
      with gone as (delete from operations)
      insert into operations (operation_id, kind, permission, status, actor_id, request, finished_at)
      values (
        gen_random_uuid(), '${permission === 'user:import' ? 'import' : 'change'}', '${permission}', 'done', $1, '{}',
        now()
      )
      returning operation_id as id`;
    const missing = '404 operation.not_found';
    const visible =
      (then: string, otherwise = missing, permission = 'user:update'): Expected =>
      ({ holds, seesAll, relation }) => {
        if (!['user:update', 'user:delete', 'user:import'].some(holds)) return '403 access.denied';
        return holds(permission) && (seesAll || relation === 'own') ? then : otherwise;
      };
    const row = (request: string, then: string) => onUsers(null, callInserted(insert(), request), visible(then));
    return {
      'GET /user/operation/{operation_id}': row('GET /user/operation/:id', '200'),
      'GET /user/operation/{operation_id}/skipped': onUsers(
        null,
        callInserted(insert('user:import'), 'GET /user/operation/:id/skipped'),
        // Rows of other actors contain personal values.
        (cell) =>
          visible(cell.relation === 'own' || cell.holds('user:read') ? '200' : missing, missing, 'user:import')(cell),
      ),
      'POST /user/operation/{operation_id}/cancel': row('POST /user/operation/:id/cancel', '202'),
      'POST /user/operation/{operation_id}/undo': row('POST /user/operation/:id/undo', '409 operation.not_undoable'),
      'GET /user/operation/list': onUsers(
        null,
        callInserted(insert(), 'GET /user/operation/list?actor_id=:user'),
        visible('200 found 1', '200 found 0'),
        found,
      ),
    };
  }

  /** Each cell requests a waiting mail to its user. */
  function mailRows(): Record<string, MatrixRow> {
    const insert = `
      select '00000000-0000-8000-8000-' || lpad(to_hex(id), 12, '0') as id
      from graphile_worker.add_job(
        'send-mail',
        json_build_object('user_id', $1::text, 'mail', 'token-reuse'),
        run_at => now() + interval '1 day'
      )`;
    return {
      'GET /mail/list': onUsers(
        'mail:manage',
        callInserted(insert, 'GET /mail/list?mail_id=:id'),
        count('found'),
        found,
      ),
      'POST /mail/{mail_id}/retry': onUsers(
        'mail:manage',
        callInserted(insert, 'POST /mail/:id/retry'),
        existing(always('202'), '404 mail.not_found'),
      ),
    };
  }

  function factorRows(): Record<string, MatrixRow> {
    const mine = (request: string, body: object | undefined, status: string, duringEnrollment = status) =>
      own(null, call(request, body), status, { duringEnrollment });
    // The first factor of a user who must enrol needs a mailed code.
    const needsCode = '403 auth.mail_code_required';
    /** Inserts an unconfirmed factor, which has no effect on the user. */
    const insert = `
      insert into second_factors (factor_id, user_id, kind, name, secret)
      select gen_random_uuid(), user_id, 'totp', 'matrix', ''
      from users
      where user_id = $1
      returning factor_id as id`;
    const ofOwner = (request: string, body: object | undefined, status: string): MatrixRow => ({
      ...onUsers(null, callInserted(insert, request, body), ownOr(status, always('404 factor.not_found'))),
      duringEnrollment: status,
    });
    const confirmation = { factor_id: randomUUID(), code: '123456' };
    return {
      'GET /auth/factor/list': mine('GET /auth/factor/list', undefined, '200'),
      'POST /auth/factor/totp': mine('POST /auth/factor/totp', {}, '201', needsCode),
      'POST /auth/factor/totp/confirm': mine('POST /auth/factor/totp/confirm', confirmation, '404 factor.not_found'),
      'POST /auth/factor/passkey/options': mine('POST /auth/factor/passkey/options', undefined, '200', needsCode),
      'POST /auth/factor/passkey': mine(
        'POST /auth/factor/passkey',
        { name: 'matrix', challenge: 'x', passkey: {} },
        '400 request.invalid',
      ),
      'POST /auth/reauthenticate/options': mine('POST /auth/reauthenticate/options', undefined, '200'),
      'POST /auth/factor/recovery-codes': mine('POST /auth/factor/recovery-codes', undefined, '404 factor.not_found'),
      'PATCH /auth/factor/{factor_id}': ofOwner('PATCH /auth/factor/:id', { name: 'renamed' }, '200'),
      'DELETE /auth/factor/{factor_id}': ofOwner('DELETE /auth/factor/:id', undefined, '204'),
      'GET /user/{user_id}/factor/list': onUsers(
        'user:read',
        call('GET /user/:user/factor/list'),
        existing(always('200')),
      ),
      'DELETE /user/{user_id}/factor/all': onOthers('user:reset_factors', call('DELETE /user/:user/factor/all'), '204'),
      'DELETE /user/{user_id}/factor/{factor_id}': onOthers(
        'user:reset_factors',
        callInserted(insert, 'DELETE /user/:user/factor/:id'),
        '404 factor.not_found',
      ),
    };
  }

  function ownRows(): Record<string, MatrixRow> {
    const wrong = '400 auth.wrong_current_password';
    const passwords = { current_password: 'wrong', new_password: 'wrong horse battery staple' };
    const email = { current_password: 'wrong', email: 'new@example.com' };
    return {
      'GET /user': own(null, call('GET /user'), '200', { duringPasswordChange: true, duringEnrollment: '200' }),
      'GET /auth/verify': own(null, call('GET /auth/verify'), '204'),
      'POST /auth/password': own(null, call('POST /auth/password', passwords), wrong, {
        ...{ duringPasswordChange: true, duringEnrollment: wrong },
      }),
      'POST /auth/email': own(null, call('POST /auth/email', email), wrong),
      'DELETE /auth/email': own(null, call('DELETE /auth/email'), '204'),
      'POST /auth/reauthenticate': own(null, call('POST /auth/reauthenticate', { password: 'wrong' }), wrong, {
        duringEnrollment: wrong,
      }),
    };
  }
}
