import { RequestMethod } from '@nestjs/common';
import { INTERCEPTORS_METADATA, METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants';
import { ModulesContainer, Reflector } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { accessRule, type AccessRule } from '../../src/access/allow.decorator';
import { document } from '../support/document';
import { TestService } from '../support/service';

/** The routes that need no login. Any other route must require one. */
const publicRoutes = [
  'GET /',
  'GET /.well-known/jwks.json',
  'GET /.well-known/webauthn',
  'GET /auth/email/{token}',
  'GET /auth/link-page.js',
  'GET /auth/reset/{token}',
  'GET /docs/errors',
  'GET /docs/errors/{code}',
  'GET /health/live',
  'GET /health/ready',
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

/**
 * The routes whose requests take a place of the admission of long work. A change of a role may wait
 * for bulk changes. An import takes a place for each batch instead, and an export has a separate
 * connection.
 */
const longRoutes = [
  'DELETE /auth/session/all',
  'DELETE /role/{role}',
  'DELETE /user/all',
  'GET /audit/list',
  'GET /auth/key/list',
  'GET /auth/session/list',
  'GET /mail/list',
  'GET /role/list',
  'GET /stats/overview',
  'GET /user/list',
  'GET /user/operation/list',
  'GET /user/operation/{operation_id}/skipped',
  'PATCH /role/{role}',
  'PATCH /user/all',
  'POST /role/create',
  'POST /user/operation/{operation_id}/undo',
];

/**
 * The changes by users and keys whose requests take no place for the whole handler. A new user and
 * a new own password take one after the hash, and an import takes one for each batch. The others
 * wait for no lock of a bulk change, or for at most 2 s, or are limited to a few in an hour.
 */
const unadmittedChanges = [
  'POST /auth/email',
  'POST /auth/introspect',
  'POST /auth/password',
  'POST /auth/reauthenticate',
  'POST /auth/reauthenticate/options',
  'POST /mail/{mail_id}/retry',
  'POST /user/create',
  'POST /user/export/link',
  'POST /user/import',
];

/** The required operations, whose methods and paths never change. */
const promised = [
  'DELETE /user/all',
  'DELETE /user/{user_id}',
  'GET /auth/session/list',
  'GET /user',
  'GET /user/list',
  'GET /user/{user_id}',
  'PATCH /user/all',
  'PATCH /user/{user_id}',
  'POST /auth/check-token',
  'POST /auth/reset/{token}',
  'POST /auth/reset_email',
  'POST /user/create',
];

/** Pages and their script, which are not part of the API. */
const pages = ['GET /auth/link-page.js', 'GET /docs/errors', 'GET /docs/errors/{code}'];
/** Files of the API explorer and of the console, which have no controller. */
const staticFiles = /^\/(docs|console)(\/|$)/;

describe('routes', () => {
  let service: TestService;
  let declared: Map<string, AccessRule | undefined>;
  let admitted: Set<string>;
  beforeAll(async () => {
    service = await TestService.start();
    const handlers = [...handlersOf(service)];
    declared = new Map(handlers.map(([route, handler]) => [route, ruleOf(service, handler)]));
    admitted = new Set(handlers.filter(([, handler]) => isAdmitted(handler)).map(([route]) => route));
  });
  afterAll(() => service.close());

  it('declares for each route who may call it', () => {
    expect(declared.size).toBeGreaterThan(25);
    expect([...declared].filter(([, rule]) => rule === undefined)).toEqual([]);
  });

  it('makes exactly the listed routes public', () => {
    const open = [...declared].filter(([, rule]) => rule?.login === null).map(([route]) => route);
    expect(open.sort()).toEqual(publicRoutes);
  });

  it('documents all routes with the same access rules, and no others', () => {
    const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
    );
    expect(documented.map(([route]) => route).sort()).toEqual(
      [...declared.keys()].filter((route) => !pages.includes(route)).sort(),
    );
    for (const [route, operation] of documented) {
      const rule = declared.get(route);
      const demand = rule?.login === null ? 'none' : (rule?.permission ?? 'any login');
      expect([route, operation['x-permission']]).toEqual([route, demand]);
    }
  });

  it('admits every list, bulk change, change of a role and statistic as long work, and nothing else (D30)', () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ route: `${method.toUpperCase()} ${path}`, operation })),
    );
    const long = operations.filter(({ operation }) => operation['x-long-work'] === true).map(({ route }) => route);
    expect(long.sort()).toEqual(longRoutes);
    // Lists of the factors of one user are short.
    const lists = operations.map(({ route }) => route).filter((route) => /\/(list|all)$/.test(route));
    expect(lists.filter((route) => !/\/factor\//.test(route) && !long.includes(route))).toEqual([]);
  });

  it('admits every other change by a user or key, with listed exceptions (D30)', () => {
    const changes = [...declared].filter(([route, rule]) => rule?.login !== null && !/^(GET|HEAD) /.test(route));
    const unadmitted = changes.map(([route]) => route).filter((route) => !admitted.has(route));
    expect(unadmitted.sort()).toEqual(unadmittedChanges);
  });

  it('responds to any other method with 405 and Allow', async () => {
    const table = routerTable(service.app.getHttpAdapter().getInstance());
    expect(table.length).toBeGreaterThan(100);
    const reached: string[] = [];
    for (const { method, path } of table.filter(
      (route) => !staticFiles.test(route.path) || declared.has(`GET ${route.path}`),
    )) {
      if (declared.has(`${method} ${path}`)) continue;
      const { statusCode, headers } = await service.app.inject({
        method: method as 'GET',
        url: path.replace(/\{[^}]+\}/g, 'x'),
      });
      const allowed = [...declared.keys()]
        .filter((route) => route.endsWith(` ${path}`))
        .map((route) => route.split(' ')[0]);
      if (statusCode !== 405 || headers.allow !== allowed.sort().join(', '))
        reached.push(`${method} ${path} → ${statusCode} ${headers.allow}`);
    }
    expect(reached).toEqual([]);
    const missing = [...declared.keys()].filter(
      (route) => !table.some(({ method, path }) => `${method} ${path}` === route),
    );
    expect(missing).toEqual([]);
  });

  it('includes the twelve required operations', () => {
    expect(promised).toHaveLength(12);
    expect(promised.filter((route) => !declared.has(route))).toEqual([]);
  });
});

/** Returns the handlers of all controllers by their routes, in the notation of the document. */
function handlersOf(service: TestService): Map<string, () => void> {
  const routes = new Map<string, () => void>();
  for (const module of service.app.get(ModulesContainer).values()) {
    for (const { metatype } of module.controllers.values()) {
      const { prototype } = metatype as { prototype: Record<string, () => void> };
      for (const name of Object.getOwnPropertyNames(prototype)) {
        const handler = prototype[name];
        const method =
          typeof handler === 'function'
            ? (Reflect.getMetadata(METHOD_METADATA, handler) as number | undefined)
            : undefined;
        if (handler === undefined || method === undefined) continue;
        const parts = [
          Reflect.getMetadata(PATH_METADATA, metatype as object),
          Reflect.getMetadata(PATH_METADATA, handler),
        ] as string[];
        const path = `/${parts
          .flatMap((part) => part.split('/'))
          .filter(Boolean)
          .join('/')}`;
        routes.set(`${RequestMethod[method]} ${braced(path)}`, handler);
      }
    }
  }
  return routes;
}

function ruleOf(service: TestService, handler: () => void): AccessRule | undefined {
  return service.app.get(Reflector).get<AccessRule | undefined>(accessRule, handler);
}

/** Returns whether a handler takes a place of an `Admission`. */
function isAdmitted(handler: () => void): boolean {
  const interceptors = (Reflect.getMetadata(INTERCEPTORS_METADATA, handler) ?? []) as { name: string }[];
  return interceptors.some(({ name }) => name === 'AdmissionInterceptor');
}

/** Returns the routes of the Fastify router, parsed from the tree that it prints. */
function routerTable(fastify: FastifyInstance): { method: string; path: string }[] {
  const above: string[] = [];
  return fastify
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .filter((line) => line.includes('('))
    .flatMap((line) => {
      const node = /^([│ ]*[├└]── )(.*?) \(([A-Z, -]+)\)$/;
      const [, indent = '', part = '', methods = ''] = node.exec(line) ?? [];
      const depth = indent.length / 4 - 1;
      above.splice(depth, above.length, part);
      return methods.split(', ').map((method) => ({ method, path: braced(above.join('')) }));
    });
}

function braced(path: string): string {
  return path.replace(/:([a-z_]+)/g, '{$1}');
}
