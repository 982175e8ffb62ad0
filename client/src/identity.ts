import { follow } from './follow.js';
import { operations } from './operations.js';
import { Pages } from './pages.js';
import { type ClientOptions, type Flags, type RequestOptions, send } from './transport.js';
import type { FollowOptions, Identity } from './types.js';

type Entry = readonly [method: string, path: string, flags: Flags];

/** Creates a client of the service at `url`. */
export function createIdentity(client: ClientOptions): Identity {
  const nouns: Record<string, Record<string, unknown>> = {};
  for (const [noun, verbs] of Object.entries(operations)) {
    const methods: Record<string, unknown> = (nouns[noun] = {});
    for (const [verb, [method, path, flags]] of Object.entries<Entry>(verbs))
      methods[verb] = (...args: unknown[]) => call(client, method, path, flags, args);
  }
  const identity = nouns as unknown as Identity;
  Object.assign(identity.changes, { follow: (options?: FollowOptions) => follow(identity, options) });
  return identity;
}

function call(client: ClientOptions, method: string, template: string, flags: Flags, args: unknown[]): unknown {
  const rest = [...args];
  const path = template.replace(/\{\w+\}/g, () => segment(rest.shift()));
  const body = flags.body === undefined ? undefined : rest.shift();
  const query = flags.query ? (rest.shift() as Record<string, unknown> | undefined) : undefined;
  const options = rest.shift() as RequestOptions | undefined;
  const request = { method, path, flags, body, query, options };
  if (!flags.paged) return send(client, request);
  return new Pages((cursor) =>
    send(client, cursor === undefined ? request : { ...request, query: { ...query, cursor } }),
  );
}

/** Rejects ids that need percent-encoding, because they could reach another operation. */
function segment(id: unknown): string {
  if (typeof id !== 'string' || !/^[\w.:-]+$/.test(id) || /^\.+$/.test(id))
    throw new TypeError(`not an id: ${String(id)}`);
  return id;
}
