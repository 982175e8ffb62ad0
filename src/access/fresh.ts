import { monotonicMs } from '../platform/clock';
import { AppError } from '../http/errors/app-error';
import type { Actor } from './actor';

/** Returns whether an actor authenticated recently. API keys and the service are exempt. */
export function isFresh({ fresh_until }: Actor): boolean {
  return fresh_until === null || monotonicMs() < fresh_until;
}

/**
 * Rejects an actor whose last authentication is older than `FRESH_AUTH_SECONDS`: a stolen session
 * alone must not take over the service (S24, E2, RFC 9470).
 * @throws auth.reauthentication_required
 */
export function assertFresh(actor: Actor): void {
  if (!isFresh(actor)) throw new AppError('auth.reauthentication_required');
}

/**
 * Makes a handler check the actor among its arguments before it runs.
 * Guards and interceptors run before validation, but a 400 must come before this 401. Therefore the
 * check wraps the handler, which runs after validation.
 */
export function CheckFresh(): MethodDecorator {
  return (_target, name, descriptor) => {
    const handler = descriptor.value as (...args: unknown[]) => unknown;
    const checked = function (this: unknown, ...args: unknown[]): unknown {
      assertFresh(actorAmong(args, name));
      return handler.apply(this, args);
    };
    Object.defineProperty(checked, 'name', { value: name });
    // Decorators below this one have set metadata on the handler.
    for (const key of Reflect.getMetadataKeys(handler))
      Reflect.defineMetadata(key, Reflect.getMetadata(key, handler), checked);
    descriptor.value = checked as typeof descriptor.value;
  };
}

function actorAmong(args: unknown[], name: string | symbol): Actor {
  const actor = args.find((arg) => typeof arg === 'object' && arg !== null && 'fresh_until' in arg);
  if (actor === undefined) throw new Error(`${String(name)} requires a fresh authentication, but has no @CurrentActor`);
  return actor as Actor;
}
