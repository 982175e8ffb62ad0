import { AsyncLocalStorage } from 'node:async_hooks';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { canonicalJson } from '../common/canonical-json';
import { AppError, type ErrorExtras } from '../common/errors/app-error';
import type { ErrorCode } from '../common/errors/error-codes';
import { createKeyedHash, deriveKey, newId } from '../common/random';
import { CONFIG, type Config } from '../config/config';
import { Fingerprint } from './fingerprint';
import { IdempotencyRepository, type KeyScope, type KeyState } from './idempotency.repository';

/** A request with a key: whose it is and what it is. */
export interface KeyedRequest extends Pick<KeyScope, 'method' | 'path'> {
  actor: Actor;
  key: string;
  query: unknown;
  /** as parsed, or an uploaded file */
  body: unknown;
}

/** The right to work on a request; a lease, so that it ends with the process that has it. */
export interface Claim {
  claim_id: string;
  scope: KeyScope;
  fingerprint: Fingerprint;
}

/** How a request was answered: with a body, or with a refusal. */
export interface KeptAnswer {
  status: number;
  body?: unknown;
  refusal?: { code: ErrorCode; extras: ErrorExtras };
}

const leaseSeconds = 10;
const renewEveryMs = 3_000;

/**
 * Requests with an `Idempotency-Key` are carried out once, and answered the same again for 24 hours
 * (draft-ietf-httpapi-idempotency-key-header-07). It holds through kill -9 at any moment: the
 * answer is kept in the transaction of the change, and who has lost their claim cannot commit.
 */
@Injectable()
export class IdempotencyService {
  private readonly logger = new Logger(IdempotencyService.name);
  private readonly claims = new AsyncLocalStorage<Claim>();
  private readonly key: Buffer;

  constructor(
    private readonly records: IdempotencyRepository,
    @Inject(CONFIG) config: Config,
  ) {
    this.key = deriveKey(config.APP_SECRET, 'idempotency');
  }

  /**
   * Claims a request, or finds the first answer to it.
   * @throws idempotency.key_reused, idempotency.in_progress
   */
  async claim({ actor, method, path, key, query, body }: KeyedRequest): Promise<Claim | KeptAnswer> {
    const { actor_type, user_id } = actor;
    if (actor_type === 'system') throw new Error('the system actor sends no requests');
    const scope = { user_id, actor_type, method, path, key_hash: createKeyedHash(this.key).update(key).digest() };
    const actor_scope = scopeOf(actor);
    const claim: Claim = { claim_id: newId(), scope, fingerprint: new Fingerprint(this.key, query, body) };
    if (await this.records.claim(scope, actor_scope, claim.claim_id, claim.fingerprint.known, leaseSeconds)) {
      await this.records.sweep();
      return claim;
    }
    const state = await this.records.find(scope);
    if (state === null) throw new AppError('idempotency.in_progress');
    return firstAnswer(state, actor_scope, claim.fingerprint);
  }

  /** Works on a claimed request; the claim is renewed as long as that takes. */
  async during<Result>(claim: Claim, work: () => Promise<Result>): Promise<Result> {
    // missing one renewal does no harm, and losing the claim is noticed by `keep`
    const renew = () => void this.records.renew(claim.scope, claim.claim_id, leaseSeconds).catch(() => undefined);
    const timer = setInterval(renew, renewEveryMs).unref();
    try {
      return await this.claims.run(claim, work);
    } finally {
      clearInterval(timer);
    }
  }

  /**
   * Keeps the answer to the current request, if it has a key: the last step of the transaction that
   * makes its whole change. After a crash between commit and answer, the request is then answered
   * instead of done again.
   * @throws idempotency.in_progress when another process has taken the request over, so that this
   * change is rolled back
   */
  async keep(status: number, body: unknown): Promise<void> {
    const claim = this.claims.getStore();
    if (claim === undefined) return;
    const { scope, claim_id, fingerprint } = claim;
    const kept = await this.records.keep(scope, claim_id, status, JSON.stringify({ body }), fingerprint.known);
    if (!kept) throw new AppError('idempotency.in_progress');
  }

  /**
   * Keeps the answer to a request that is over, unless `keep` has; null keeps none, so that the
   * request can be tried again. Never throws.
   */
  async settle({ scope, claim_id, fingerprint }: Claim, answer: KeptAnswer | null): Promise<void> {
    try {
      const request_hash = answer === null ? null : await fingerprint.complete().catch(() => null);
      // what was refused because its body broke off on the way may come again whole
      if (answer === null || (answer.refusal !== undefined && request_hash === null))
        return await this.records.release(scope, claim_id);
      const { status, body, refusal } = answer;
      await this.records.settle(scope, claim_id, status, JSON.stringify({ body, refusal }), request_hash);
    } catch (error) {
      // the request was carried out: its caller gets the answer, and the claim ends by itself
      this.logger.warn(`an answer could not be kept: ${(error as Error).message}`);
    }
  }

  /** Takes the answers that mention purged users away. */
  async eraseUsers(user_ids: string[]): Promise<void> {
    await this.records.eraseUsers(user_ids);
  }
}

/** Returns the scope of an actor as text. */
function scopeOf({ user_type, carrier_id, carrier_scope }: Actor): string {
  return canonicalJson([user_type, carrier_id, carrier_scope === null ? null : [...carrier_scope].sort()]);
}

async function firstAnswer(
  { actor_scope: first_scope, request_hash, status, answer }: KeyState,
  actor_scope: string,
  fingerprint: Fingerprint,
): Promise<KeptAnswer> {
  // a streamed body is read only once there is something to compare it with
  const own = status === null || request_hash === null ? fingerprint.known : await fingerprint.complete();
  if (request_hash !== null && own !== null && !own.equals(request_hash)) throw new AppError('idempotency.key_reused');
  if (status === null) throw new AppError('idempotency.in_progress');
  if (answer === null)
    throw new AppError('idempotency.key_reused', {
      detail: 'The request was carried out. Its answer was erased, together with a purged user.',
    });
  // The response may contain users whom the caller may no longer see.
  if (first_scope !== null && first_scope !== actor_scope)
    throw new AppError('idempotency.key_reused', {
      detail: 'The request was carried out. Your scope has changed since, so the response is not returned again.',
    });
  return { ...(answer as Omit<KeptAnswer, 'status'>), status };
}
