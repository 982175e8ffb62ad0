// Writes what the package `client/` knows about the API, from openapi.json: the types of requests
// and responses (client/src/schema.ts), and the operations by noun and verb
// (client/src/operations.ts). With `--check`, fails if a file is outdated.
import fs from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';
import prettier from 'prettier';
import ts from 'typescript';

const root = new URL('../', import.meta.url);
const document = JSON.parse(fs.readFileSync(new URL('openapi.json', root), 'utf8'));
const banner = '// Generated from openapi.json by `npm run generate`. Do not edit.\n';

/** Nouns by path. The first entry that is a prefix of a path applies. */
const nouns = [
  ['/user/operation', 'operations'],
  ['/user', 'users'],
  ['/carrier', 'carriers'],
  ['/role', 'roles'],
  ['/auth/session', 'sessions'],
  ['/auth/key', 'keys'],
  ['/auth/factor', 'factors'],
  ['/auth', 'auth'],
  ['/audit', 'audit'],
  ['/change', 'changes'],
  ['/webhook', 'webhooks'],
  ['/mail', 'mails'],
  ['/address-block', 'addressBlocks'],
  ['/stats', 'stats'],
  ['/health', 'health'],
];

/** Names that do not follow from the path. Null leaves out an operation that no program calls. */
const names = {
  'GET /user': 'users.me',
  'GET /user/{user_id}/factor/list': 'users.factors',
  'DELETE /user/{user_id}/factor/all': 'users.resetFactors',
  'DELETE /user/{user_id}/factor/{factor_id}': 'users.removeFactor',
  'GET /user/export/{token}': null,
  'GET /auth/reset/{token}': 'auth.checkReset',
  'GET /auth/email/{token}': 'auth.checkEmail',
  'POST /auth/email/{token}': 'auth.confirmEmail',
  'POST /auth/email': 'auth.changeEmail',
  'POST /auth/password': 'auth.changePassword',
  'POST /auth/reset_email': 'auth.requestReset',
  'POST /auth/factor/totp': 'factors.addTotp',
  'POST /auth/factor/totp/confirm': 'factors.confirmTotp',
  'POST /auth/factor/passkey': 'factors.addPasskey',
  'GET /webhook/{webhook_id}/delivery/list': 'webhooks.deliveries',
  'POST /webhook/{webhook_id}/delivery/{delivery_id}/retry': 'webhooks.retryDelivery',
  'GET /.well-known/jwks.json': 'auth.keySet',
  'GET /.well-known/oauth-authorization-server': 'auth.metadata',
  'GET /.well-known/webauthn': null,
  'GET /auth/verify': null,
  'GET /': null,
};
const verbs = { GET: 'get', POST: 'create', PATCH: 'update', PUT: 'replace', DELETE: 'delete' };

/** Follows a reference within the document. */
const resolve = (node) =>
  node?.$ref === undefined
    ? node
    : node.$ref
        .split('/')
        .slice(1)
        .reduce((value, key) => value[key], document);

/** Returns the noun and the verb of an operation: `DELETE /user/all` → users, deleteAll. */
function nameOf(method, path) {
  const name = names[`${method} ${path}`];
  if (name !== undefined) return name?.split('.');
  const [prefix, noun] = nouns.find(([start]) => path === start || path.startsWith(`${start}/`)) ?? [];
  if (noun === undefined) throw new Error(`${method} ${path} needs a noun in scripts/client-operations.mjs`);
  const words = path
    .slice(prefix.length)
    .split('/')
    .filter((part) => part !== '' && !part.startsWith('{'))
    .flatMap((part) => part.split(/[_-]/));
  if (words.length === 0) return [noun, verbs[method]];
  if (words.join() === 'all') return [noun, `${verbs[method]}All`];
  return [noun, words.map((word, index) => (index === 0 ? word : word[0].toUpperCase() + word.slice(1))).join('')];
}

/** Returns the flags that the client needs to send an operation. */
function flagsOf(operation) {
  const parameters = (operation.parameters ?? []).map(resolve);
  const has = (place, name) => parameters.some((one) => one.in === place && (name === undefined || one.name === name));
  const types = Object.keys(resolve(operation.requestBody)?.content ?? {});
  const success = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
  const responses = success.flatMap(([, response]) => Object.keys(resolve(response).content ?? {}));
  const body = types.includes('application/json') ? 'json' : types[0] && (types[0].includes('form') ? 'form' : 'file');
  return {
    ...(body && { body }),
    ...(has('query') && { query: true }),
    ...(has('query', 'cursor') && { paged: true }),
    ...(has('header', 'Idempotency-Key') && { idempotent: true }),
    ...(responses.length > 0 && !responses.includes('application/json') && { raw: true }),
  };
}

async function operationsFile() {
  const tree = {};
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(item)) {
      if (method === 'head' || operation.operationId === undefined) continue;
      const [noun, verb] = nameOf(method.toUpperCase(), path) ?? [];
      if (noun === undefined) continue;
      if (tree[noun]?.[verb] !== undefined) throw new Error(`${noun}.${verb} is two operations`);
      (tree[noun] ??= {})[verb] = { path, method: method.toUpperCase(), operation };
    }
  const text = Object.entries(tree).map(([noun, operations]) => {
    const lines = Object.entries(operations).map(([verb, { path, method, operation }]) => {
      const doc = [operation.summary, `\`${method} ${path}\``, `Permission: ${operation['x-permission']}`];
      const lines = doc.map((line) => ` * ${line}.\n`).join('');
      return `/**\n${lines} */\n${verb}: ${JSON.stringify([method, path, flagsOf(operation)])},`;
    });
    return `${noun}: {\n${lines.join('\n')}\n},`;
  });
  const meaning = '/** Method, path and flags of each operation, by noun and verb. */';
  const table = `export const operations = {\n${text.join('\n')}\n} as const;`;
  const source = `${banner}\n${meaning}\n${table}\n\n${errorCodes()}`;
  const options = JSON.parse(fs.readFileSync(new URL('.prettierrc.json', root), 'utf8'));
  return prettier.format(source, { ...options, parser: 'typescript' });
}

/** Returns the type of all error codes of the document. */
function errorCodes() {
  const problems = Object.entries(document.components.schemas).filter(([name]) => name.endsWith('Problem'));
  const codes = problems.flatMap(([, schema]) => {
    const parts = [schema, ...(schema.allOf ?? []), ...(schema.oneOf ?? [])].map(resolve);
    return parts.flatMap(({ properties }) => properties?.code?.enum ?? properties?.code?.const ?? []);
  });
  const union = [...new Set(codes)].sort().map((code) => `'${code}'`);
  const meaning = '/** Codes of problems. Later versions of the service may add codes. */';
  return `${meaning}\nexport type ErrorCode = ${union.join(' | ')} | (string & {});\n`;
}

/** Leaves out errors, which the client types itself, and parts that only errors refer to. */
function withoutErrors() {
  const reduced = JSON.parse(JSON.stringify(document));
  for (const item of Object.values(reduced.paths))
    for (const operation of Object.values(item))
      for (const status of Object.keys(operation.responses ?? {}))
        if (!status.startsWith('2')) delete operation.responses[status];
  const reached = new Set();
  const follow = (node) => {
    if (typeof node !== 'object' || node === null) return;
    if (typeof node.$ref === 'string' && !reached.has(node.$ref)) {
      reached.add(node.$ref);
      follow(resolve(node));
    }
    for (const child of Object.values(node)) follow(child);
  };
  follow(reduced.paths);
  for (const [kind, parts] of Object.entries(reduced.components))
    for (const name of Object.keys(parts)) if (!reached.has(`#/components/${kind}/${name}`)) delete parts[name];
  return reduced;
}

/** Adds `string & {}` to an enum, so that later versions of the service can add values. */
function openEnum(schema) {
  if (schema.type !== 'string' || schema.enum === undefined || schema.enum.length < 2) return undefined;
  const literals = schema.enum.map((value) => ts.factory.createLiteralTypeNode(ts.factory.createStringLiteral(value)));
  const string = ts.factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword);
  const open = ts.factory.createIntersectionTypeNode([string, ts.factory.createTypeLiteralNode([])]);
  return ts.factory.createUnionTypeNode([...literals, ts.factory.createParenthesizedType(open)]);
}

const files = {
  'client/src/schema.ts': banner + astToString(await openapiTS(withoutErrors(), { transform: openEnum })),
  'client/src/operations.ts': await operationsFile(),
};
const read = (file) => (fs.existsSync(new URL(file, root)) ? fs.readFileSync(new URL(file, root), 'utf8') : null);
const stale = Object.entries(files).filter(([file, text]) => read(file) !== text);
if (process.argv.includes('--check') && stale.length > 0) {
  console.error(`outdated: ${stale.map(([file]) => file).join(', ')}; run npm run generate`);
  process.exit(1);
}
for (const [file, text] of stale) fs.writeFileSync(new URL(file, root), text);
