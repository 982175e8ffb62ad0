import type { Client } from 'pg';
import { inSpan, isTracing } from './spans';

type ClientClass = new (...args: never[]) => Client;

/** First words of a statement that name its operation; all others are `SQL`. */
const operation = /^\s*(select|with|insert|update|delete|begin|start|commit|rollback|savepoint|release|fetch|set)\b/i;
/** Maximum length of the text of a statement. */
const textMax = 4_000;

/**
 * Returns a class of connections whose statements have spans: the text with `$1`, without values.
 * Returns the given class if traces are off, so that a statement costs nothing more.
 */
export function withStatementSpans<Class extends ClientClass>(Base: Class): Class {
  if (!isTracing()) return Base;
  return class extends (Base as ClientClass) {
    // The driver has six overloads, of which only those that return a promise have spans.
    override query(...args: [query?: unknown, ...rest: unknown[]]): never {
      const send = () => super.query(...(args as Parameters<Client['query']>)) as unknown as Promise<unknown>;
      const text = typeof args[0] === 'string' ? args[0] : (args[0] as { text?: unknown } | undefined)?.text;
      if (typeof text !== 'string' || typeof args.at(-1) === 'function') return send() as never;
      const [, verb = 'SQL'] = operation.exec(text) ?? [];
      const attributes = { 'db.system.name': 'postgresql', 'db.query.text': text.trim().slice(0, textMax) };
      return inSpan(verb.toUpperCase(), { kind: 'CLIENT', attributes }, send) as never;
    }
  } as unknown as Class;
}
