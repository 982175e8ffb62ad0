import type { IdentityError } from './errors.js';
import type { operations } from './operations.js';
import type { Pages } from './pages.js';
import type { paths } from './schema.js';
import type { FileBody, RequestOptions } from './transport.js';

type Table = typeof operations;
type Operation<M extends string, P extends string> = P extends keyof paths
  ? Lowercase<M> extends keyof paths[P]
    ? paths[P][Lowercase<M>]
    : never
  : never;
type PathArgs<P extends string> = P extends `${string}{${string}}${infer Rest}` ? [id: string, ...PathArgs<Rest>] : [];
type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : undefined;
type Responses<O> = O extends { responses: infer R } ? R : never;
/** Response of an operation. */
type Result<O> = { [Status in keyof Responses<O>]: Json<Responses<O>[Status]> }[keyof Responses<O>];
type Query<O> = O extends { parameters: { query?: infer Q } } ? NonNullable<Q> & Attributes<NonNullable<Q>> : never;
/** Lists of users also accept filters such as `attributes.tier`. */
type Attributes<Q> = 'locale_in' extends keyof Q ? AttributeFilters : unknown;
interface AttributeFilters {
  [name: `attributes.${string}`]: string;
}
type Content<T> = T extends { content: infer C } ? C[keyof C] : never;
type BodyArgs<O, F> = F extends { body: 'file' }
  ? [file: FileBody]
  : F extends { body: string }
    ? O extends { requestBody: infer B }
      ? [body: Content<B>]
      : O extends { requestBody?: infer B }
        ? [body?: Content<NonNullable<B>>]
        : []
    : [];
type QueryArgs<O, F> = F extends { query: true }
  ? O extends { parameters: { query: object } }
    ? [query: Query<O>]
    : [query?: Query<O>]
  : [];
type Output<O, F> = F extends { paged: true }
  ? Pages<Result<O>>
  : Promise<F extends { raw: true } ? Response : Result<O>>;
type Method<Entry> = Entry extends readonly [infer M extends string, infer P extends string, infer F]
  ? (
      ...args: [
        ...PathArgs<P>,
        ...BodyArgs<Operation<M, P>, F>,
        ...QueryArgs<Operation<M, P>, F>,
        options?: RequestOptions,
      ]
    ) => Output<Operation<M, P>, F>
  : never;

/** All operations of the service, by noun and verb. */
type Nouns = { readonly [Noun in keyof Table]: { readonly [Verb in keyof Table[Noun]]: Method<Table[Noun][Verb]> } };

/** A client of the service. */
export type Identity = Nouns & {
  readonly changes: {
    /** Follows the change feed: yields each page, also an empty one, and waits for the next. */
    follow(options?: FollowOptions): AsyncGenerator<ChangePage, never, void>;
  };
};

/** A page of the change feed. */
export type ChangePage = Result<paths['/change/list']['get']>;
/** A change of a user, session, role or API key. */
export type Change = ChangePage['items'][number];
/** A user. */
export type User = Result<paths['/user/{user_id}']['get']>;
/** A user in a list. */
export type ListedUser = Result<paths['/user/list']['get']>['items'][number];
/** A session of a user. */
export type Session = Result<paths['/auth/session/list']['get']>['items'][number];
/** A role. */
export type Role = Result<paths['/role/{role}']['get']>;
/** State of a valid token. */
export type CheckedToken = Result<paths['/auth/check-token']['post']>;
/** A new session. */
export type LoginResult = Result<paths['/auth/login']['post']>;
/** Filters of a list of users. */
export type UserFilters = Query<paths['/user/list']['get']>;

/** How to follow the change feed. */
export interface FollowOptions {
  /** cursor of the last page that was applied; without it, begins with the oldest change */
  after?: string | undefined;
  /** seconds that the service holds a request until there is a change, 0–30; default 25 */
  wait?: number;
  /** milliseconds between two requests to a service without long polls; default 1,000 */
  interval?: number;
  per_page?: number;
  target_type?: 'user' | 'session' | 'role' | 'key';
  type_in?: string[];
  carrier_id?: string;
  /** `values`: adds the user to each change of a user */
  include?: 'values';
  signal?: AbortSignal;
  /** called with each failure before the next attempt */
  onError?: (error: IdentityError) => void;
}
