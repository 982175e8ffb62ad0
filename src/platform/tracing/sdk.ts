import type { Context, Span } from '@opentelemetry/api';
import type { ExportResultCode } from '@opentelemetry/core';
import type { Sampler, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { logLine, writer } from '../log/log-line';
import { writeNow } from '../log/log-stream';
import { name, version } from '../project';
import { StartFault } from '../start-fault';
import { within } from '../within';

/** Maximum time for the last export when the service stops. */
const flushMs = 2_000;

/** The cheapest route, and often the most frequent. Recording all its spans costs 40 % more CPU. */
const checkRoute = '/auth/check-token';
/** Recorded share of the checks that begin a trace. */
const checksRatio = 0.1;

/** The parts of the OpenTelemetry SDK that `spans.ts` uses. */
export type Sdk = Awaited<ReturnType<typeof loadSdk>>;

/**
 * Loads the SDK, which reads its standard variables itself (`OTEL_…`).
 * @param samplesChecks whether only a tenth of the token checks that begin a trace is recorded
 * @throws StartFault if the optional packages are not installed
 */
export async function loadSdk(samplesChecks: boolean) {
  const [api, core, traces, resources, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/core'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
  ]).catch((error: NodeJS.ErrnoException) => {
    if (!/MODULE_NOT_FOUND$/.test(error.code ?? '')) throw error;
    throw new StartFault(
      'Traces need the optional @opentelemetry packages of package.json. Install them with `npm ci` without ' +
        '--omit=optional, or unset OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_TRACES_ENDPOINT.',
    );
  });
  const own = { 'service.name': name, 'service.version': version, 'service.instance.id': writer.instance };
  const exporter = reportOutages(new OTLPTraceExporter(), core.ExportResultCode.SUCCESS);
  const provider = new traces.BasicTracerProvider({
    ...(samplesChecks && { sampler: sampleChecks(traces) }),
    resource: resources
      .defaultResource()
      .merge(resources.resourceFromAttributes(own))
      .merge(resources.detectResources({ detectors: [resources.envDetector] })),
    spanProcessors: [new traces.BatchSpanProcessor(exporter)],
  });
  const propagator = new core.W3CTraceContextPropagator();
  return {
    api,
    tracer: provider.getTracer(name, version),
    /** Returns the context whose spans are children of a span. */
    contextOf: (span: Span) => api.trace.setSpan(api.ROOT_CONTEXT, span),
    /** Returns the context of received headers. Invalid headers are ignored. */
    extract: (headers: object) => propagator.extract(api.ROOT_CONTEXT, headers, api.defaultTextMapGetter),
    /** Returns the headers that pass a context on. */
    inject: (context: Context) => {
      const headers: Record<string, string> = {};
      propagator.inject(context, headers, api.defaultTextMapSetter);
      return headers;
    },
    /** Exports the remaining spans, for at most 2 s. */
    stop: () => {
      const stopped = provider.shutdown().catch(() => undefined);
      return within(flushMs, stopped, () => undefined);
    },
  };
}

/** Follows the caller's decision. Otherwise records a tenth of the checks, and all other traces. */
function sampleChecks(traces: typeof import('@opentelemetry/sdk-trace-base')): Sampler {
  const [all, some] = [new traces.AlwaysOnSampler(), new traces.TraceIdRatioBasedSampler(checksRatio)];
  const shouldSample: Sampler['shouldSample'] = (context, traceId, name) =>
    name.endsWith(checkRoute) ? some.shouldSample(context, traceId) : all.shouldSample();
  return new traces.ParentBasedSampler({ root: { shouldSample } });
}

/** Logs the first failed export of an outage, and the end of the outage. */
function reportOutages(exporter: SpanExporter, success: ExportResultCode): SpanExporter {
  const send = exporter.export.bind(exporter);
  let lost = 0;
  exporter.export = (spans, done) =>
    send(spans, (result) => {
      const { code, error }: { code: ExportResultCode; error?: Error & { code?: unknown } } = result;
      const accepted = code === success;
      if (!accepted && lost === 0)
        writeNow(logLine('warn', 'traces: the collector accepts no spans', { error: error?.code ?? error?.message }));
      if (accepted && lost > 0) writeNow(logLine('info', 'traces: the collector accepts spans again', { lost }));
      lost = accepted ? 0 : lost + spans.length;
      done(result);
    });
  return exporter;
}
