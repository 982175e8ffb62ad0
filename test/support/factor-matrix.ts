import { randomUUID } from 'node:crypto';
import { relations } from './access-roles';
import type { Cell, MatrixRow } from './matrix';
import type { TestService } from './service';

/** Returns the rows of the access matrix about second factors. */
export function factorRows(service: () => TestService): Record<string, MatrixRow> {
  const own = (
    send: (cell: Cell) => ReturnType<MatrixRow['send']>,
    status: string,
    needsMailCode = false,
  ): MatrixRow => ({
    permission: null,
    duringEnrollment: true,
    related: ['own'],
    send,
    // The first factor of a user who must enrol needs a mailed code.
    expected: ({ mustEnroll }) => (mustEnroll && needsMailCode ? '403 auth.mail_code_required' : status),
  });
  /** Inserts an unconfirmed factor, which has no effect on the user. */
  const factorOf = async (user_id: string) => {
    const factor_id = randomUUID();
    await service().rows(
      `
        insert into second_factors (factor_id, user_id, kind, name, secret)
        select $1, user_id, 'totp', 'matrix', ''
        from users
        where user_id = $2`,
      [factor_id, user_id],
    );
    return `/auth/factor/${factor_id}`;
  };
  const ofOwner = (status: string, send: MatrixRow['send']): MatrixRow => ({
    permission: null,
    duringEnrollment: true,
    related: relations,
    send,
    expected: ({ relation }) => (relation === 'own' ? status : '404 factor.not_found'),
  });
  const ofOther = (status: string, send: MatrixRow['send']): MatrixRow => ({
    permission: 'user:reset_factors',
    related: relations,
    send,
    expected: ({ sees, isProtected, relation }) => {
      if (!sees) return '404 user.not_found';
      if (relation === 'own') return '403 user.self_protected';
      return isProtected ? '403 access.protected_user' : status;
    },
  });
  return {
    'GET /auth/factor/list': own(({ login }) => service().get('/auth/factor/list', login), '200'),
    'POST /auth/factor/totp': own(
      ({ login: { token } }) => service().post('/auth/factor/totp', { token, body: {} }),
      '201',
      true,
    ),
    'POST /auth/factor/totp/confirm': own(
      ({ login: { token } }) =>
        service().post('/auth/factor/totp/confirm', { token, body: { factor_id: randomUUID(), code: '123456' } }),
      '404 factor.not_found',
    ),
    'POST /auth/factor/passkey/options': own(
      ({ login }) => service().post('/auth/factor/passkey/options', login),
      '200',
      true,
    ),
    'POST /auth/factor/passkey': own(({ login: { token } }) => {
      const body = { name: 'matrix', challenge: 'x', passkey: {} };
      return service().post('/auth/factor/passkey', { token, body });
    }, '400 request.invalid'),
    'POST /auth/reauthenticate/options': own(
      ({ login }) => service().post('/auth/reauthenticate/options', login),
      '200',
    ),
    'POST /auth/factor/recovery-codes': own(
      ({ login }) => service().post('/auth/factor/recovery-codes', login),
      '404 factor.not_found',
    ),
    'PATCH /auth/factor/{factor_id}': ofOwner('200', async ({ login: { token }, target }) =>
      service().patch(await factorOf(target.user_id), { token, body: { name: 'renamed' } }),
    ),
    'DELETE /auth/factor/{factor_id}': ofOwner('204', async ({ login, target }) =>
      service().delete(await factorOf(target.user_id), login),
    ),
    'GET /user/{user_id}/factor/list': {
      permission: 'user:read',
      related: relations,
      send: ({ login, target }) => service().get(`/user/${target.user_id}/factor/list`, login),
      expected: ({ sees }) => (sees ? '200' : '404 user.not_found'),
    },
    'POST /user/{user_id}/secure': {
      ...ofOther('200', ({ login: { token }, target }) =>
        service().post(`/user/${target.user_id}/secure`, { token, body: { factors: 'keep', keys: 'keep' } }),
      ),
      permission: 'user:update',
    },
    'DELETE /user/{user_id}/factor/all': ofOther('204', ({ login, target }) =>
      service().delete(`/user/${target.user_id}/factor/all`, login),
    ),
    'DELETE /user/{user_id}/factor/{factor_id}': ofOther('404 factor.not_found', async ({ login, target }) => {
      const path = (await factorOf(target.user_id)).replace('/auth', `/user/${target.user_id}`);
      return service().delete(path, login);
    }),
  };
}
