import { AsyncLocalStorage } from 'node:async_hooks';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { type Actor, selfOf } from '../../access/actor';
import { canonicalJson } from '../../platform/canonical-json';
import { AppError, type ErrorExtras } from '../errors/app-error';
import type { ErrorCode } from '../errors/error-codes';
import { createKeyedHash, deriveKey, newId } from '../../platform/random';
import { CONFIG, type Config } from '../../platform/config/config';
import { type RateLimit, RateLimitsService } from '../../access/rate-limits/rate-limits.service';
import { Fingerprint } from './fingerprint';
import { IdempotencyRepository, type KeyScope, type KeyState } from './idempotency.repository';

/** A request with an `Idempotency-Key`. */
export interface KeyedRequest extends Pick<KeyScope, 'method' | 'path'> {
  actor: Actor;
  key: string;
  query: unknown;
  /** the parsed body, or an uploaded file */
  body: unknown;
}

/** The exclusive right to handle a request. Expires within 10 s after its process has ended. */
export interface Reservation {
  reservation_id: string;
  scope: KeyScope;
  fingerprint: Fingerprint;
  /** the caller for the limit of stored responses */
  caller: string;
}

/** The response to a request: a body or an error. */
export interface StoredResponse {
  status: number;
  body?: unknown;
  refusal?: { code: ErrorCode; extras: ErrorExtras };
}

const leaseSeconds = 10;
const renewEveryMs = 3_000;
/** Limits what a caller stores in a day: a hit per request, and per 2 KiB of its response (B32). */
const limit: RateLimit = {
  name: 'idempotency-keys',
  max: 50_000,
  window_seconds: 86_400,
  detail: 'Too many requests with an `Idempotency-Key` in 24 hours.',
};
const hitBytes = 2_048;

/**
 * Carries out requests with an `Idempotency-Key` once, and returns the same response for 24 hours
 * (draft-ietf-httpapi-idempotency-key-header-07).
 * Safe against kill -9 at any time: the transaction of the change stores the response, and cannot
 * commit once its reservation was taken over.
 */
@Injectable()
export class IdempotencyService {
  private readonly logger = new Logger(IdempotencyService.name);
  private readonly reservations = new AsyncLocalStorage<Reservation>();
  private readonly hashKey: Buffer;

  constructor(
    private readonly records: IdempotencyRepository,
    private readonly limits: RateLimitsService,
    @Inject(CONFIG) config: Config,
  ) {
    this.hashKey = deriveKey(config.APP_SECRET, 'idempotency');
  }

  /**
   * Reserves a request, or returns the response to the first request.
   * @throws idempotency.key_reused, idempotency.in_progress, request.rate_limited
   */
  async reserve({ actor, method, path, key, query, body }: KeyedRequest): Promise<Reservation | StoredResponse> {
    const { actor_type, user_id } = actor;
    if (actor_type === 'system') throw new Error('the system actor sends no requests');
    const scope = { user_id, actor_type, method, path, key_hash: createKeyedHash(this.hashKey).update(key).digest() };
    const actor_scope = scopeOf(actor);
    const reservation_id = newId();
    const fingerprint = new Fingerprint(this.hashKey, query, body);
    const caller = selfOf(actor) ?? user_id;
    if (await this.records.reserve({ ...scope, actor_scope, reservation_id }, fingerprint.known, leaseSeconds)) {
      // A replay stores nothing and does not count.
      await this.limits.demand(limit, caller).catch(async (error: unknown) => {
        await this.records.release(scope, reservation_id);
        throw error;
      });
      await this.records.sweep();
      return { reservation_id, scope, fingerprint, caller };
    }
    const state = await this.records.find(scope);
    if (state === null) throw new AppError('idempotency.in_progress');
    return firstResponse(state, actor_scope, fingerprint);
  }

  /** Runs the work of a reserved request, and renews the reservation while the work runs. */
  async run<Result>(reservation: Reservation, work: () => Promise<Result>): Promise<Result> {
    const { scope, reservation_id } = reservation;
    // A failed renewal does no harm: `keep` detects the loss of the reservation.
    const renew = () => void this.records.renew(scope, reservation_id, leaseSeconds).catch(() => undefined);
    const timer = setInterval(renew, renewEveryMs).unref();
    try {
      return await this.reservations.run(reservation, work);
    } finally {
      clearInterval(timer);
    }
  }

  /**
   * Stores the response to the current request if the request has a key.
   * Call it as the last step of the transaction that makes the whole change: after a crash, a
   * repeated request gets the response and does not change anything again.
   * @throws idempotency.in_progress if another process took the request over; the change is then
   * rolled back
   */
  async keep(status: number, body: unknown): Promise<void> {
    const reservation = this.reservations.getStore();
    if (reservation === undefined) return;
    const { scope, reservation_id, fingerprint } = reservation;
    const response = { status, answer: JSON.stringify({ body }), replace: true };
    const kept = await this.records.keep(scope, reservation_id, response, fingerprint.known);
    if (!kept) throw new AppError('idempotency.in_progress');
  }

  /**
   * Stores the response to a finished request, unless `keep` already stored one. Returns false if
   * another process took the request over. Never throws.
   * @param response null releases the reservation, so that the request can be retried
   */
  async settle(
    { scope, reservation_id, fingerprint, caller }: Reservation,
    response: StoredResponse | null,
  ): Promise<boolean> {
    try {
      const request_hash = response === null ? null : await fingerprint.complete().catch(() => null);
      // A request whose body was incomplete may be sent again with the whole body.
      if (response === null || (response.refusal !== undefined && request_hash === null))
        return await this.records.release(scope, reservation_id).then(() => true);
      const { status, body, refusal } = response;
      const answer = JSON.stringify({ body, refusal });
      const isOwner = await this.records.keep(scope, reservation_id, { status, answer, replace: false }, request_hash);
      if (answer.length >= hitBytes) await this.limits.add(limit, caller, Math.floor(answer.length / hitBytes));
      return isOwner;
    } catch (error) {
      // The request was carried out: return its response, and let the reservation expire.
      this.logger.warn(`a response could not be stored: ${(error as Error).message}`);
      return true;
    }
  }

  /** Deletes the responses that contain purged users. */
  async eraseUsers(user_ids: string[]): Promise<void> {
    await this.records.eraseUsers(user_ids);
  }
}

function scopeOf({ user_type, carrier_id, carrier_scope }: Actor): string {
  return canonicalJson([user_type, carrier_id, carrier_scope === null ? null : [...carrier_scope].sort()]);
}

async function firstResponse(
  { actor_scope: first_scope, request_hash, status, answer }: KeyState,
  actor_scope: string,
  fingerprint: Fingerprint,
): Promise<StoredResponse> {
  // Read a streamed body only if there is a hash to compare it with.
  const own = status === null || request_hash === null ? fingerprint.known : await fingerprint.complete();
  if (request_hash !== null && own !== null && !own.equals(request_hash)) throw new AppError('idempotency.key_reused');
  if (status === null) throw new AppError('idempotency.in_progress');
  if (answer === null)
    throw new AppError('idempotency.key_reused', {
      detail: 'The request was carried out. Its response was erased because a user in it was purged.',
    });
  // The response may contain users whom the caller may no longer see.
  if (first_scope !== null && first_scope !== actor_scope)
    throw new AppError('idempotency.key_reused', {
      detail: 'The request was carried out. Your scope has changed since, so the response is not returned again.',
    });
  return { ...(answer as Omit<StoredResponse, 'status'>), status };
}
