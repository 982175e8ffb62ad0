import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attributes, Link, Span, SpanKind, SpanStatus } from '@opentelemetry/api';
import type { Sdk } from './sdk';

/** What a span reports. No attribute may contain a secret, a login, an address or a carrier. */
export interface SpanFacts<T> {
  /** `CLIENT` for calls to another process */
  kind?: keyof typeof SpanKind;
  attributes?: Attributes;
  /** Returns the attributes of a result. With `error.type`, the span has failed. */
  outcome?: (result: T) => Attributes;
}

/** `SpanStatusCode.ERROR`. An import of the value would load the optional package. */
const failed: SpanStatus = { code: 2 };
/** span of the current request, job or call */
const current = new AsyncLocalStorage<Span>();
/** null while traces are off */
let sdk: Sdk | null = null;

/**
 * Starts to record spans, and returns a function that exports the last ones.
 * @param samplesChecks whether only a tenth of the token checks that begin a trace is recorded
 * @throws StartFault if the optional packages are not installed
 */
export async function startTracing(samplesChecks: boolean): Promise<() => Promise<void>> {
  const loaded = await (await import('./sdk.js')).loadSdk(samplesChecks);
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
  if (sdk === null || parent?.isRecording() !== true) return work();
  return run(sdk.tracer.startSpan(name, optionsOf(sdk, facts), sdk.contextOf(parent)), facts, work);
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
  return run(sdk.tracer.startSpan(name, { ...optionsOf(sdk, facts), links }, ROOT_CONTEXT), facts, work);
}

/** Starts the span of a request, whose parent may be a span of the client. */
export function startRequestSpan(name: string, headers: object): Span | undefined {
  return sdk?.tracer.startSpan(name, { kind: sdk.api.SpanKind.SERVER }, sdk.extract(headers));
}

/** Runs the rest of a request in its span. */
export function continueIn(span: Span, work: () => void): void {
  current.run(span, work);
}

/** Ends a span. With `error.type`, it has failed. */
export function endSpan(span: Span, attributes: Attributes = {}): void {
  span.setAttributes(attributes);
  if (attributes['error.type'] !== undefined) span.setStatus(failed);
  span.end();
}

/** Returns the headers that pass the current span on: `traceparent` and `tracestate`. */
export function traceHeaders(): Record<string, string> {
  const span = sdk === null ? undefined : current.getStore();
  return sdk === null || span === undefined ? {} : sdk.inject(sdk.contextOf(span));
}

function optionsOf<T>({ api }: Sdk, { kind = 'INTERNAL', attributes = {} }: SpanFacts<T>) {
  return { kind: api.SpanKind[kind], attributes };
}

async function run<T>(span: Span, { outcome }: SpanFacts<T>, work: () => Promise<T>): Promise<T> {
  try {
    const result = await current.run(span, work);
    endSpan(span, outcome?.(result));
    return result;
  } catch (error) {
    // The message of an error is left out, because it may contain values.
    const { code, name = 'Error' } = error as { code?: unknown; name?: string };
    endSpan(span, { 'error.type': typeof code === 'string' ? code : name });
    throw error;
  }
}
