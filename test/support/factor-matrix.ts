import { randomUUID } from 'node:crypto';
import { relations } from './access-roles';
import type { Cell, MatrixRow } from './matrix';
import type { TestService } from './service';

/** Returns the rows of the access matrix about second factors. */
export function factorRows(service: () => TestService): Record<string, MatrixRow> {
  const send =
    (request: string, body?: object) =>
    ({ login: { token }, target: { user_id } }: Cell) => {
      const [method = '', path = ''] = request.split(' ');
      return service().send(method, path.replace('{user_id}', user_id), { token, body });
    };
  /** Returns the row of a request about the own user. */
  const own = (request: string, status: string, body?: object, needsMailCode = false): Record<string, MatrixRow> => ({
    [request]: {
      permission: null,
      duringEnrollment: true,
      related: ['own'],
      send: send(request, body),
      // The first factor of a user who must enrol needs a mailed code.
      expected: ({ mustEnroll }) => (mustEnroll && needsMailCode ? '403 auth.mail_code_required' : status),
    },
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
    ...own('GET /auth/factor/list', '200'),
    ...own('POST /auth/factor/totp', '201', {}, true),
    ...own('POST /auth/factor/totp/confirm', '404 factor.not_found', { factor_id: randomUUID(), code: '123456' }),
    ...own('POST /auth/factor/passkey/options', '200', undefined, true),
    ...own('POST /auth/factor/passkey', '400 request.invalid', { name: 'matrix', challenge: 'x', passkey: {} }),
    ...own('POST /auth/reauthenticate/options', '200'),
    ...own('POST /auth/factor/recovery-codes', '404 factor.not_found'),
    'PATCH /auth/factor/{factor_id}': ofOwner('200', async ({ login: { token }, target }) =>
      service().patch(await factorOf(target.user_id), { token, body: { name: 'renamed' } }),
    ),
    'DELETE /auth/factor/{factor_id}': ofOwner('204', async ({ login, target }) =>
      service().delete(await factorOf(target.user_id), login),
    ),
    'GET /user/{user_id}/factor/list': {
      permission: 'user:read',
      related: relations,
      send: send('GET /user/{user_id}/factor/list'),
      expected: ({ sees }) => (sees ? '200' : '404 user.not_found'),
    },
    'POST /user/{user_id}/secure': {
      ...ofOther('200', send('POST /user/{user_id}/secure', { factors: 'keep', keys: 'keep' })),
      permission: 'user:update',
    },
    'DELETE /user/{user_id}/factor/all': ofOther('204', send('DELETE /user/{user_id}/factor/all')),
    'DELETE /user/{user_id}/factor/{factor_id}': ofOther('404 factor.not_found', async ({ login, target }) => {
      const path = (await factorOf(target.user_id)).replace('/auth', `/user/${target.user_id}`);
      return service().delete(path, login);
    }),
  };
}
