import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

import { eventually } from './eventually.ts';

/** A span as OTLP has it in JSON. */
export interface ExportedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: Record<string, unknown> }[];
  status: { code: number; message?: string };
  events: { name: string }[];
}

export interface ExportBody {
  resourceSpans: { resource: { attributes: unknown[] }; scopeSpans: { spans: ExportedSpan[] }[] }[];
}

/** A receiver of OTLP in JSON over HTTP that keeps what it gets. */
export class SpanCollector implements AsyncDisposable {
  requests: { method: string; url: string; body: ExportBody }[] = [];
  readonly endpoint: string;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => {
      void json(request).then((body) => {
        this.requests.push({ method: request.method ?? '', url: request.url ?? '', body: body as ExportBody });
        response.setHeader('content-type', 'application/json').end('{}');
      });
    });
  }

  static async open(): Promise<SpanCollector> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new SpanCollector(server);
  }

  get spans(): ExportedSpan[] {
    return this.requests.flatMap(({ body }) => body.resourceSpans.flatMap((r) => r.scopeSpans.flatMap((s) => s.spans)));
  }

  ofTrace(traceId: string): ExportedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  /** The span of this name in a trace, as soon as it is here. */
  named(traceId: string, name: string, matches: (span: ExportedSpan) => boolean = () => true): Promise<ExportedSpan> {
    const find = (): ExportedSpan | undefined =>
      this.ofTrace(traceId).find((span) => span.name === name && matches(span));
    return eventually(find, `the span ${name} arrives`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** The attributes of a span by name. */
export function attributesOf(span: ExportedSpan): Record<string, unknown> {
  return Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
