import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attributes, Context, Link, Span, SpanKind } from '@opentelemetry/api';
import type { Sdk } from './sdk';

/** What a span reports. No attribute may contain a secret, a login, an address or a carrier. */
export interface SpanFacts<T> {
  /** `CLIENT` for calls to another process */
  kind?: keyof typeof SpanKind;
  attributes?: Attributes;
  /** Returns the attributes of a result. With `error.type`, the span has failed. */
  outcome?: (result: T) => Attributes;
}

const current = new AsyncLocalStorage<Context>();
/** null while traces are off */
let sdk: Sdk | null = null;

/**
 * Starts to record spans, and returns a function that exports the last ones.
 * @throws StartFault if the optional packages are not installed
 */
export async function startTracing(): Promise<() => Promise<void>> {
  const loaded = await (await import('./sdk.js')).loadSdk();
  sdk = loaded;
  return () => loaded.stop();
}

/** Returns whether spans are recorded. Does not change after the start. */
export function isTracing(): boolean {
  return sdk !== null;
}

/**
 * Runs work in a span of the current request or job. Only runs the work if traces are off, or
 * outside a recorded request or job.
 */
export function inSpan<T>(name: string, facts: SpanFacts<T>, work: () => Promise<T>): Promise<T> {
  const parent = sdk === null ? undefined : current.getStore();
  if (sdk === null || parent === undefined || sdk.api.trace.getSpan(parent)?.isRecording() !== true) return work();
  return run(sdk, sdk.tracer.startSpan(name, optionsOf(sdk, facts), parent), facts, work);
}

/**
 * Runs work in the first span of a new trace.
 * @param cause `traceHeaders` of the span that led to the work, for a link
 */
export function inNewTrace<T>(name: string, facts: SpanFacts<T>, cause: object, work: () => Promise<T>): Promise<T> {
  if (sdk === null) return work();
  const { ROOT_CONTEXT, trace } = sdk.api;
  const context = trace.getSpanContext(sdk.extract(cause));
  const links: Link[] = context === undefined ? [] : [{ context }];
  return run(sdk, sdk.tracer.startSpan(name, { ...optionsOf(sdk, facts), links }, ROOT_CONTEXT), facts, work);
}

/** Returns the headers that pass the current span on: `traceparent` and `tracestate`. */
export function traceHeaders(): Record<string, string> {
  const context = sdk === null ? undefined : current.getStore();
  return sdk === null || context === undefined ? {} : sdk.inject(context);
}

/** A span of a request, whose parent may be a span of the client. */
export class RequestSpan {
  private readonly context: Context;

  private constructor(
    private readonly loaded: Sdk,
    private readonly span: Span,
    parent: Context,
  ) {
    this.context = loaded.api.trace.setSpan(parent, span);
  }

  /** Starts the span. Returns undefined if traces are off. */
  static start(name: string, headers: object): RequestSpan | undefined {
    if (sdk === null) return undefined;
    const parent = sdk.extract(headers);
    const options = { kind: sdk.api.SpanKind.SERVER };
    return new RequestSpan(sdk, sdk.tracer.startSpan(name, options, parent), parent);
  }

  /** id of the trace */
  get trace_id(): string {
    return this.span.spanContext().traceId;
  }

  /** Runs the rest of the request in this span. */
  continue(work: () => void): void {
    current.run(this.context, work);
  }

  /** Ends the span. @param fault why the service could not respond */
  end(name: string, attributes: Attributes, fault?: string): void {
    this.span.updateName(name).setAttributes(attributes);
    if (fault !== undefined) fail(this.loaded, this.span, fault);
    this.span.end();
  }
}

function optionsOf<T>({ api }: Sdk, { kind = 'INTERNAL', attributes = {} }: SpanFacts<T>) {
  return { kind: api.SpanKind[kind], attributes };
}

async function run<T>(loaded: Sdk, span: Span, { outcome }: SpanFacts<T>, work: () => Promise<T>): Promise<T> {
  const { trace, ROOT_CONTEXT } = loaded.api;
  try {
    const result = await current.run(trace.setSpan(ROOT_CONTEXT, span), work);
    const attributes = outcome?.(result) ?? {};
    span.setAttributes(attributes);
    if (attributes['error.type'] !== undefined) fail(loaded, span, String(attributes['error.type']));
    return result;
  } catch (error) {
    const { code, name } = error as { code?: unknown; name?: string };
    fail(loaded, span, typeof code === 'string' ? code : (name ?? 'Error'));
    throw error;
  } finally {
    span.end();
  }
}

/** Marks a span as failed. The message of an error is left out, because it may contain values. */
function fail({ api }: Sdk, span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: api.SpanStatusCode.ERROR });
}
