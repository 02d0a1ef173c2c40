import { AsyncLocalStorage } from 'node:async_hooks';

import {
  INVALID_SPAN_CONTEXT,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
} from '@opentelemetry/api';

import { messageOf } from './thrown.ts';
import type { TracerOptions, TraceSdk } from './trace-sdk.ts';

export type { Attributes, Span } from '@opentelemetry/api';
export type { TracerOptions } from './trace-sdk.ts';

export interface SpanOptions {
  kind?: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  attributes?: Attributes;
  /** W3C trace context to continue; null starts a new trace; the current span if absent. */
  parent?: string | null;
}

/** Span recorded after it has ended, whose context was known before. */
export interface PastSpan {
  kind?: SpanOptions['kind'];
  attributes?: Attributes;
  /** The span's own W3C trace context, from `contextWithin` or `newContext`. */
  context: string;
  /** W3C trace context of its parent; null for the first span of a trace. */
  parent: string | null;
  /** Milliseconds since the epoch. */
  startedAt: number;
  endedAt: number;
  events?: readonly { name: string; at: number }[];
  /** Error message if it failed. */
  error?: string;
}

export interface Tracing {
  readonly enabled: boolean;
  /** Runs `run` inside a span; records an error on the span and rethrows it. */
  span<T>(name: string, options: SpanOptions, run: (span: Span) => Promise<T>): Promise<T>;
  /**
   * Returns the W3C trace context to pass on; null if there is no trace. While tracing is off it is the caller's own.
   */
  traceparentOf(span: Span): string | null;
  /**
   * Returns the context of a span that some process will record under this id, for its children until then: in the
   * parent's trace, with the parent's sampling decision. While tracing is off it is the parent's own.
   */
  contextWithin(parent: string | null, spanId: string): string | null;
  /** Returns the context of a new trace's first span, recorded later under this id; null while tracing is off. */
  newContext(name: string, spanId: string): string | null;
  /** Records a span after its end, if the caller's sampling decision is to record its trace. */
  record(name: string, span: PastSpan): void;
  /** Delivers ended spans; drops them without an error if the collector is unavailable. */
  flush(): Promise<void>;
  /** Delivers the remaining spans and stops. */
  shutdown(): Promise<void>;
}

const SPAN_KIND = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

/** Creates tracing as configured; loads the OpenTelemetry SDK only if it is enabled. */
export async function createTracer(options: TracerOptions): Promise<Tracing> {
  if (!options.enabled) return TRACING_OFF;
  const { startSdk } = await import('./trace-sdk.ts');
  const sdk = await startSdk(options);
  return tracingOn(sdk);
}

const NO_SPAN = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

const TRACING_OFF: Tracing = {
  enabled: false,
  span: (_name, options, run) => {
    const caller = parseTraceparent(options.parent);
    return run(caller === null ? NO_SPAN : trace.wrapSpanContext(caller));
  },
  traceparentOf,
  contextWithin: (parent) => (parseTraceparent(parent) === null ? null : parent),
  newContext: () => null,
  record: () => undefined,
  flush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
};

function tracingOn(sdk: TraceSdk): Tracing {
  // A separate store instead of the API's global context, since two tracers in one process (tests) must not interfere.
  const current = new AsyncLocalStorage<Context>();
  return {
    enabled: true,
    span: (name, options, run) => {
      const parent = parentContext(options.parent, current.getStore());
      const kind = SPAN_KIND[options.kind ?? 'internal'];
      const span = sdk.startSpan(name, { kind, attributes: options.attributes ?? {} }, parent);
      return current.run(trace.setSpan(parent, span), () => endWith(span, run));
    },
    traceparentOf,
    contextWithin,
    newContext: (name, spanId) => traceparentOf(sdk.startSpan(name, {}, ROOT_CONTEXT, { spanId })),
    record: (name, span) => recordPast(sdk, name, span),
    flush: () => sdk.flush(),
    shutdown: () => sdk.shutdown(),
  };
}

function contextWithin(parent: string | null, spanId: string): string | null {
  const caller = parseTraceparent(parent);
  return caller === null ? null : format({ ...caller, spanId });
}

function recordPast(sdk: TraceSdk, name: string, past: PastSpan): void {
  const own = parseTraceparent(past.context);
  if (own === null || own.traceFlags === 0) return;
  const { kind = 'internal', attributes = {}, startedAt: startTime, events = [], error } = past;
  const options = { kind: SPAN_KIND[kind], attributes, startTime };
  const span = sdk.startSpan(name, options, parentContext(past.parent, undefined), own);
  for (const event of events) span.addEvent(event.name, event.at);
  if (error !== undefined) markFailed(span, error);
  // Start and end may come from two clocks.
  span.end(Math.max(startTime, past.endedAt));
}

/** Marks a span as failed. */
export function markFailed(span: Span, message: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}

function parentContext(parent: string | null | undefined, surrounding: Context | undefined): Context {
  if (parent === undefined) return surrounding ?? ROOT_CONTEXT;
  const caller = parseTraceparent(parent);
  return caller === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, caller);
}

async function endWith<T>(span: Span, run: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await run(span);
  } catch (error) {
    const message = messageOf(error);
    span.recordException(error instanceof Error ? error : message);
    markFailed(span, message);
    throw error;
  } finally {
    span.end();
  }
}

function traceparentOf(span: Span): string | null {
  const context = span.spanContext();
  return isSpanContextValid(context) ? format(context) : null;
}

function format({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * Returns the span context of a W3C `traceparent`; null if it is absent or malformed, as the specification requires.
 */
export function parseTraceparent(traceparent: string | null | undefined): SpanContext | null {
  if (traceparent === null || traceparent === undefined) return null;
  const [, version, traceId = '', spanId = '', flags = '', rest] = TRACEPARENT.exec(traceparent) ?? [];
  // Later versions may append fields; version 00 has none, and ff is not a version.
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null;
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  return isSpanContextValid(context) ? context : null;
}
