import {
  diag,
  DiagLogLevel,
  type Context,
  type DiagLogFunction,
  type Span,
  type SpanOptions,
  type Tracer,
} from '@opentelemetry/api';
import type { IdGenerator } from '@opentelemetry/sdk-trace-node';

import type { Logger } from './log.ts';
import { targetOf, type OtlpProtocol } from './otlp.ts';

/** Also the maximum wait for a collector on stop. */
const EXPORT_TIMEOUT_MS = 3_000;
/** Maximum number of spans waiting to be sent, some 2 KB each; further ones are dropped, and counted in the log. */
const WAITING_SPANS_MAX = 16_384;

export interface TracerOptions {
  enabled: boolean;
  /** Collector URL; null: this machine, at the protocol's port. */
  endpoint: string | null;
  /** Null or absent: gRPC to port 4317, else JSON over HTTP. */
  protocol?: OtlpProtocol | null;
  serviceName: string;
  /** Share of new traces that are recorded, 0 to 1; a caller's decision takes precedence. */
  samplingRatio: number;
  /** Logs failed deliveries of spans. */
  log?: Logger;
}

/** Ids for a span; the trace id counts only for a span without a parent. */
export interface SpanIds {
  traceId?: string;
  spanId: string;
}

export interface TraceSdk {
  /** Starts a span, with ids of the SDK if none are given. */
  startSpan(name: string, options: SpanOptions, parent: Context, ids?: SpanIds): Span;
  flush(): Promise<void>;
  shutdown(): Promise<void>;
}

/** Loads the OpenTelemetry SDK and starts a tracer that exports in batches. Throws if a package is missing. */
export async function startSdk(options: TracerOptions): Promise<TraceSdk> {
  const { protocol, url } = targetOf(options.endpoint, options.protocol ?? null);
  const [sdk, otlp, resources] = await Promise.all([
    load('@opentelemetry/sdk-trace-node', () => import('@opentelemetry/sdk-trace-node')),
    loadExporter(protocol),
    load('@opentelemetry/resources', () => import('@opentelemetry/resources')),
  ]);
  if (options.log !== undefined) reportProblems(options.log);
  const ids = new ChosenIds(new sdk.RandomIdGenerator());
  const exporter = new otlp.OTLPTraceExporter({ url, timeoutMillis: EXPORT_TIMEOUT_MS });
  const provider = new sdk.NodeTracerProvider({
    resource: resources.resourceFromAttributes({ 'service.name': options.serviceName }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(options.samplingRatio) }),
    spanProcessors: [new sdk.BatchSpanProcessor(exporter, { maxQueueSize: WAITING_SPANS_MAX })],
    idGenerator: ids,
  });
  const tracer: Tracer = provider.getTracer('heddle');
  return {
    startSpan: (name, spanOptions, parent, chosen) =>
      ids.choose(chosen, () => tracer.startSpan(name, spanOptions, parent)),
    flush: () => deliver(provider.forceFlush(), options.log),
    shutdown: () => deliver(provider.shutdown(), options.log),
  };
}

/** Generates random ids, except for spans whose ids are known before they are recorded. */
class ChosenIds implements IdGenerator {
  readonly #random: IdGenerator;
  #chosen: SpanIds | undefined;

  constructor(random: IdGenerator) {
    this.#random = random;
  }

  choose(ids: SpanIds | undefined, start: () => Span): Span {
    this.#chosen = ids;
    try {
      return start();
    } finally {
      this.#chosen = undefined;
    }
  }

  generateTraceId(): string {
    return this.#chosen?.traceId ?? this.#random.generateTraceId();
  }

  generateSpanId(): string {
    return this.#chosen?.spanId ?? this.#random.generateSpanId();
  }
}

/** Drops the last spans if the collector is unavailable, without failing the service. */
async function deliver(delivery: Promise<void>, log: Logger | undefined): Promise<void> {
  try {
    await delivery;
  } catch (error) {
    log?.warn({ err: error }, 'tracing: spans could not be delivered');
  }
}

function loadExporter(protocol: OtlpProtocol) {
  switch (protocol) {
    case 'grpc':
      return load('@opentelemetry/exporter-trace-otlp-grpc', () => import('@opentelemetry/exporter-trace-otlp-grpc'));
    case 'http/protobuf':
      return load('@opentelemetry/exporter-trace-otlp-proto', () => import('@opentelemetry/exporter-trace-otlp-proto'));
    case 'http/json':
      return load('@opentelemetry/exporter-trace-otlp-http', () => import('@opentelemetry/exporter-trace-otlp-http'));
  }
}

async function load<T>(name: string, importPackage: () => Promise<T>): Promise<T> {
  try {
    return await importPackage();
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error(`tracing is enabled but the package ${name} is not installed: npm install ${name}`, {
      cause: error,
    });
  }
}

/** The SDK reports problems (an unreachable collector) to one global logger, silent by default. */
function reportProblems(log: Logger): void {
  const warn: DiagLogFunction = (message, ...details) => log.warn({ details }, `tracing: ${message}`);
  const ignore: DiagLogFunction = () => undefined;
  diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}
