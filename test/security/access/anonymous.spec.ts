import { randomUUID } from 'node:crypto';
import { document } from '../../support/document';
import { TestService } from '../../support/service';

/** The public operations. A new public route must be added here, with the reason in the review. */
const publicOperations = [
  'GET /',
  'GET /.well-known/jwks.json',
  'GET /.well-known/webauthn',
  'GET /auth/email/{token}',
  'GET /auth/reset/{token}',
  'GET /health/live',
  'GET /health/ready',
  // The token is the proof; it works once, for a minute.
  'GET /user/export/{token}',
  'HEAD /',
  'HEAD /health/live',
  'HEAD /health/ready',
  'POST /auth/check-token',
  'POST /auth/email/{token}',
  'POST /auth/login',
  'POST /auth/logout',
  'POST /auth/passkey/login',
  'POST /auth/passkey/options',
  'POST /auth/reset/{token}',
  'POST /auth/reset_email',
  'POST /auth/second-factor',
  'POST /auth/second-factor/passkey-options',
];

interface Router {
  printRoutes: (options: object) => string;
}

/** Paths of pages and their files. */
const pages = /^\/(docs|console)|^\/auth\/link-page\.js$/;

describe('requests without a login', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { 'x-permission': permission }]) => ({
      operation: `${method.toUpperCase()} ${path}`,
      permission,
    })),
  );

  it('rejects every operation, except for the public ones listed here (Z1)', async () => {
    const open = documented.filter(({ permission }) => permission === 'none').map(({ operation }) => operation);
    expect(open.sort()).toEqual(publicOperations);
    for (const { operation } of documented.filter(({ permission }) => permission !== 'none')) {
      const [method = '', path = ''] = operation.split(' ');
      const url = path.replace(/\{[^}]+\}/g, randomUUID());
      for (const request of [
        {},
        { body: { a: 1 } },
        { headers: { authorization: 'Basic YWRtaW46YWRtaW4=', cookie: 'token=1' } },
      ]) {
        const { status, body } = await service.send(method, `${url}?nothing=1`, request);
        // Only this route accepts Basic, and these credentials belong to no key.
        const code =
          operation === 'POST /auth/introspect' && 'headers' in request ? 'auth.key_invalid' : 'auth.token_missing';
        expect(`${operation} ${status} ${body.code}`).toBe(`${operation} 401 ${code}`);
      }
    }
  });

  it('documents or rejects every route of the router (Z1, H20)', async () => {
    const routes = routesOf(await service.inside<Router>('Router').printRoutes({ commonPrefix: false })).filter(
      (path) => !pages.test(path),
    );
    expect(routes.length).toBeGreaterThanOrEqual(Object.keys(document.paths).length);
    for (const route of routes) {
      const path = route.replace(/:(\w+)/g, '{$1}');
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        if (publicOperations.includes(`${method} ${path}`)) continue;
        const { statusCode: status } = await service.inject({
          method,
          url: route.replace(/:\w+/g, randomUUID()),
        });
        const known = document.paths[path]?.[method.toLowerCase()] !== undefined;
        expect(`${method} ${path} ${status}`).toBe(`${method} ${path} ${known ? 401 : 405}`);
      }
    }
  });
});

/** Parses the paths of the tree that the router prints. */
function routesOf(tree: string): string[] {
  const parents: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', part = ''] = /^([│ ]*)[├└]── (\S+) \(/.exec(line) ?? [];
    if (part === '') return [];
    const depth = indent.length / 4;
    parents[depth] = (parents[depth - 1] ?? '') + part;
    parents.length = depth + 1;
    return [parents[depth] ?? ''];
  });
}
