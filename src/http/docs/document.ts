import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ProblemResponse } from '../errors/problem.dto';
import { docstringsIn } from './docstrings';
import { completeOperation, shareParameters, shareUnions } from './document-operations';
import { ProblemResponses } from './document-problems';
import { completeSchemas, nameEnums } from './document-schemas';
import type { Components, Operation, PlacedOperation } from './document-types';

/**
 * Tag without operations that contains `rules`. Generators repeat the description of the document
 * in each file, but not the descriptions of tags.
 */
const rulesTag = 'All operations';
/** Rules that hold for all operations. */
const rules = [
  '**Authentication.** `POST /auth/login` returns an access token and a refresh token. `POST /auth/check-token` ' +
    'refreshes them. Send the access token, or an API key, as `Authorization: Bearer …` or `X-Auth-Token: …`. ' +
    'Each operation names the permission that it requires. Users outside the scope of the caller are not visible.',
  '**Fresh authentication.** Operations with `x-fresh-auth` require that the user logged in or reauthenticated ' +
    'within the last 5 minutes (`FRESH_AUTH_SECONDS`). Otherwise they return 401 `auth.reauthentication_required`. ' +
    'Do not refresh the token: call `POST /auth/reauthenticate` and repeat the request. API keys are exempt.',
  '**Requests** are JSON in UTF-8 unless stated otherwise. Unknown fields and unknown, repeated or empty parameters ' +
    'are rejected; of duplicate keys in JSON, the last one wins. In a PATCH, an absent field stays unchanged and ' +
    'null clears it; a list is cleared with `[]`, and null is rejected unless the schema allows it. Times are ' +
    'RFC 3339 in UTC. Later versions may add fields to responses: ignore the fields that you do not know.',
  '**Filters** are query parameters named like the fields. All filters must match. A suffix selects the operator: ' +
    'none is equality, `_ne` (also finds null), `_in` (a list of up to 500 values, separated by commas), `_gt` ' +
    '`_gte` `_lt` `_lte` (times), `_isnull` (`true` or `false`), `_like` (contains, at least 3 characters). ' +
    'Write the `+` of a time as `%2B`.',
  '**Pages.** Send `next_cursor` of a page as `cursor` to get the next page, until `next_cursor` is null. ' +
    '`relation` in `total` is `eq` for an exact number and `approx` for an estimate.',
  '**Retries.** An operation with an `Idempotency-Key` runs once, even if the request is repeated. ' +
    'With `If-Match` and the `ETag` of a user, a change applies only to that version.',
  '**Errors** are `application/problem+json` (RFC 9457). Handle errors by `code`, show `detail` to users, and give ' +
    'the `request_id` to the operator. If several errors apply, the first of 401, 403, 400, 404, 412 and 409 is ' +
    'returned. `errors` names at most 20 fields or parameters, and `errors_omitted` counts the others. After 429 ' +
    'and 503, wait for the number of seconds in `Retry-After`.',
].join('\n\n');
/** Tags and their descriptions, in the order of the explorer. */
const tags: Record<string, string> = {
  [rulesTag]: rules,
  Authentication: 'Log in and out, check and refresh tokens',
  'Passwords and addresses': 'Set passwords and confirm e-mail addresses, also by mailed link',
  Users: 'Read, create, change and delete single users, and list users',
  'Bulk changes': 'Change or delete all users that match a filter, with preview and undo',
  'Import and export': 'Create users from a file, and write users to a file',
  Operations: 'Follow, cancel and undo background work on many users',
  'Second factors': 'Complete a login with a second factor; add, list, rename and remove factors',
  Sessions: 'List and end sessions. Every login opens a session.',
  'API keys': 'Credentials for programs that call the service',
  Roles: 'Named sets of permissions',
  Audit: 'The audit log: who changed what, and when',
  Changes: 'The change feed: what happened to users, sessions, roles and API keys, without gaps',
  Webhooks: 'Send changes to other services, and follow the deliveries',
  Mails: 'Mails that wait or failed',
  Statistics: 'Figures about users, sessions and logins',
  Health: 'Name and version of the service, and probes for load balancers and orchestrators',
};
const howToGetToken =
  'Log in with `POST /auth/login` and copy `access_token` from the response. The token is valid for ' +
  '`expires_in` seconds (10 minutes by default); afterwards, refresh it with `POST /auth/check-token` or log in ' +
  'again. An API key can be used instead of an access token.';
const claims =
  'An access token is a JWT with the `aud` `carrier-platform`. Its `iss` is the public URL of the service.';
const methods = ['get', 'head', 'post', 'patch', 'delete'] as const;

/**
 * Creates the OpenAPI 3.1 document from controllers and DTOs.
 * Only the build calls it, because it reads the sources. The service serves the committed file.
 */
export function createDocument(app: INestApplication): OpenAPIObject {
  const document = SwaggerModule.createDocument(app, builder().build(), {
    extraModels: [ProblemResponse],
    operationIdFactory: (_controller, method) => method,
  });
  document.tags = Object.entries(tags).map(([name, description]) => ({
    name,
    description,
    // Explorers that know `x-traitTag`, such as Redoc, show the tag as a chapter.
    ...(name === rulesTag ? { 'x-traitTag': true } : {}),
  }));
  const components = {
    ...{ schemas: {}, parameters: {}, responses: {}, headers: {} },
    ...document.components,
  } as unknown as Components;
  document.components = components as OpenAPIObject['components'];
  const operations = operationsOf(document);
  shareUnions(operations, components);
  nameEnums(components, document);
  const examples = completeSchemas(components, docstringsIn('src'));
  const problems = new ProblemResponses(components);
  for (const operation of operations) completeOperation(operation, problems, examples);
  shareParameters(operations, components);
  joinLines(document);
  return document;
}

function builder(): DocumentBuilder {
  return new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('carrier-identity')
    .setDescription('Users, logins, tokens and sessions of a carrier-services platform')
    .setVersion('1')
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer('/', 'This service')
    .addBearerAuth(
      { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: `${howToGetToken}\n\n${claims}` },
      'bearer',
    )
    .addApiKey(
      {
        type: 'apiKey',
        in: 'header',
        name: 'X-Auth-Token',
        description: `The same token or API key in \`X-Auth-Token\`. Set only one of the two headers. ${howToGetToken}`,
      },
      'x-auth-token',
    )
    .addBasicAuth(
      {
        type: 'http',
        scheme: 'basic',
        description: 'For `POST /auth/introspect` only: the id of an API key as user name, the API key as password',
      },
      'client-credentials',
    );
}

function operationsOf({ paths }: OpenAPIObject): PlacedOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method] as unknown as Operation | undefined;
      return operation === undefined ? [] : [{ path, method, operation }];
    }),
  );
}

/**
 * Joins the lines of each paragraph in all descriptions, because docstrings wrap at 100 columns.
 * Blank lines, list items and table rows stay.
 */
function joinLines(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  for (const [name, value] of Object.entries(node)) {
    if (name === 'description' && typeof value === 'string')
      Object.assign(node, { description: value.replace(/(?<!\n)\n(?!\n|[-*|] |\d+\. )/g, ' ') });
    else joinLines(value);
  }
}
