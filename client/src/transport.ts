import { IdentityError, type Problem } from './errors.js';

/** Settings of a client. */
export interface ClientOptions {
  /** address of the service with its base path, such as `https://identity.example.net` */
  url: string;
  /** API key or access token, or a function that returns the current one */
  key?: string | (() => string | Promise<string>);
  /** milliseconds for one attempt; default 10,000 */
  timeout?: number;
  /** attempts after the first one, for requests that cannot take effect twice; default 2 */
  retries?: number;
  /** longest `Retry-After` in seconds that the client waits for; default 20 */
  maxRetryAfter?: number;
  /** called before each pause in seconds between two attempts; stops the attempts if it throws */
  onRetry?: (error: IdentityError, seconds: number) => void;
  /** used instead of the global `fetch` */
  fetch?: typeof fetch;
}

/** A file that is sent. */
export type FileBody = string | Uint8Array | ReadableStream<Uint8Array>;
type Body = FileBody | URLSearchParams;

/** Settings of one request. */
export interface RequestOptions {
  signal?: AbortSignal;
  /** API key or access token instead of the one of the client */
  token?: string;
  /** `version` that the user or role must have; otherwise the request fails with 412 */
  ifMatch?: number;
  /** instead of a random one, for operations that honour `Idempotency-Key` */
  idempotencyKey?: string;
  /** also retries a change after a failure, because the change is safe to repeat */
  repeatable?: boolean;
  /** milliseconds for one attempt */
  timeout?: number;
  headers?: Record<string, string>;
}

/** What the client knows about an operation. */
export interface Flags {
  body?: 'json' | 'form' | 'file';
  query?: boolean;
  paged?: boolean;
  idempotent?: boolean;
  raw?: boolean;
}

/** A request before it is sent. */
export interface Call {
  method: string;
  path: string;
  flags: Flags;
  query?: Record<string, unknown> | undefined;
  body?: unknown;
  options?: RequestOptions | undefined;
}

const defaults = { timeout: 10_000, retries: 2, maxRetryAfter: 20 };

/** Resolves after a time. Rejects when the signal is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    if (signal?.aborted) return reject(signal.reason as Error);
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/**
 * Sends a request and returns the parsed response, or the response itself for files.
 * Retries 429, and failures of requests that cannot take effect twice.
 * @throws IdentityError
 */
export async function send(client: ClientOptions, call: Call): Promise<unknown> {
  const { method, flags, options = {} } = call;
  const { retries, maxRetryAfter } = { ...defaults, ...client };
  const isIdempotent = method === 'GET' || (flags.idempotent === true && !(call.body instanceof ReadableStream));
  const repeatable = options.repeatable ?? isIdempotent;
  const idempotencyKey = flags.idempotent ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined;
  for (let attempt = 0; ; attempt++) {
    try {
      return await attemptOnce(client, call, idempotencyKey);
    } catch (error) {
      if (!(error instanceof IdentityError) || attempt >= retries) throw error;
      const again =
        error.status === 429 || (repeatable && (error.unavailable || error.code === 'idempotency.in_progress'));
      const seconds = error.retryAfter ?? 0.2 * 2 ** attempt * (1 + Math.random());
      if (!again || seconds > maxRetryAfter) throw error;
      client.onRetry?.(error, seconds);
      await sleep(seconds * 1_000, options.signal);
    }
  }
}

async function attemptOnce(client: ClientOptions, call: Call, idempotencyKey?: string): Promise<unknown> {
  const { options = {} } = call;
  const key = options.token ?? (typeof client.key === 'function' ? await client.key() : client.key);
  const { type, payload } = encode(call);
  const headers: Record<string, string> = {
    accept: 'application/json, application/problem+json',
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...(type !== undefined && { 'content-type': type }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(options.ifMatch !== undefined && { 'if-match': `"${options.ifMatch}"` }),
    ...options.headers,
  };
  if (call.flags.raw) headers['accept'] = options.headers?.['accept'] ?? '*/*';
  // Not `AbortSignal.timeout`: for files, the time limit must end with the headers.
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), options.timeout ?? client.timeout ?? defaults.timeout);
  const signal = options.signal ? AbortSignal.any([options.signal, timeout.signal]) : timeout.signal;
  try {
    const init = { method: call.method, headers, signal, redirect: 'error', duplex: 'half' } as RequestInit;
    if (payload !== undefined) init.body = payload as NonNullable<RequestInit['body']>;
    const response = await (client.fetch ?? fetch)(address(client.url, call), init);
    if (response.ok && call.flags.raw) return response;
    const text = await response.text();
    if (!response.ok) throw problemOf(response, text);
    return text === '' ? undefined : parse(text, response.status);
  } catch (error) {
    if (error instanceof IdentityError || options.signal?.aborted) throw error;
    const code = timeout.signal.aborted ? 'client.timeout' : 'client.unreachable';
    const detail = timeout.signal.aborted ? 'The service did not respond in time.' : 'The service cannot be reached.';
    throw new IdentityError({ code, status: 0, detail }, undefined, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Lists are sent as one parameter, separated by commas. */
function address(url: string, { path, query = {} }: Call): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, `${value as string}`]],
  );
  const parameters = new URLSearchParams(Object.fromEntries(given) as Record<string, string>);
  return `${url.replace(/\/+$/, '')}${path}${parameters.size > 0 ? `?${parameters.toString()}` : ''}`;
}

function encode({ flags, body }: Call): { type?: string; payload?: Body } {
  if (body === undefined) return {};
  if (flags.body === 'json') return { type: 'application/json', payload: JSON.stringify(body) };
  // `fetch` sets the type of a form, and callers set the type of a file.
  if (flags.body === 'form') return { payload: new URLSearchParams(body as Record<string, string>) };
  return { payload: body as FileBody };
}

function parse(text: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const detail = 'The response is not JSON. Is `url` the address of the service?';
    throw new IdentityError({ code: 'client.unexpected_response', status, detail }, undefined, { cause });
  }
}

/** Proxies respond without a problem document. Then only the status counts. */
function problemOf({ status, headers }: Response, text: string): IdentityError {
  const retryAfter = /^\d+$/.test(headers.get('retry-after') ?? '') ? Number(headers.get('retry-after')) : undefined;
  try {
    const problem = JSON.parse(text) as Problem;
    if (typeof problem.code === 'string') return new IdentityError({ ...problem, status }, retryAfter);
  } catch {
    // The body is not JSON.
  }
  return new IdentityError({ code: 'client.unexpected_response', status }, retryAfter);
}
