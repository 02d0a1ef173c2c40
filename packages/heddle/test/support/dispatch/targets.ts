import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { silentLogger } from '@heddle/base/log';
import { createMetrics } from '@heddle/core/metrics/metrics';
import { seededRandom } from '@heddle/base/random';
import { createTracer } from '@heddle/base/trace';
import type { Action, ActionTrigger, WebhookParams } from '@heddle/base/vocabulary/task';
import type { Delivery } from '@heddle/core/engine/port';
import type { DeliverDependencies } from '../../../src/dispatch/deliver.ts';
import { createGuardedAgent } from '@heddle/base/outbound/guarded-agent';
import type { GuardedAgentOptions } from '@heddle/base/outbound/guarded-agent';
import { DEFAULT_RETRY_SCHEDULES } from '../../../src/dispatch/retry-schedule.ts';
import { SsrfGuard, STRICT_SSRF_POLICY } from '@heddle/base/outbound/ssrf';
import type { SsrfPolicy } from '@heddle/base/outbound/ssrf';

export const TASK_ID = '018f0000-0000-7000-8000-000000000001';
export const DELIVERY_ID = '018f0000-0000-7000-8000-00000000d001';

export interface Received {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Target {
  server: Server;
  url: string;
  received: Received[];
  connections: () => number;
  close: () => Promise<void>;
}

/** A real HTTP server on a loopback address; `answer` runs once a request is complete. */
export async function startTarget(
  answer: (request: Received, response: ServerResponse, raw: IncomingMessage) => void,
  at: { host?: string; port?: number } = {},
): Promise<Target> {
  const received: Received[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const whole = { method, url, headers, body: Buffer.concat(chunks).toString() };
      received.push(whole);
      answer(whole, response, request);
    });
  });
  server.on('connection', () => (connections += 1));
  const host = at.host ?? '127.0.0.1';
  server.listen(at.port ?? 0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    server,
    url: `http://${host}:${port}`,
    received,
    connections: () => connections,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export function delivery(url: string, changes: Partial<Delivery> & { params?: Partial<WebhookParams> } = {}): Delivery {
  const { params, ...rest } = changes;
  const trigger = (changes.trigger ?? 'success') as ActionTrigger;
  const action: Action = { trigger, params: { url, verb: 'Post', ...params } };
  return {
    id: DELIVERY_ID,
    task_id: TASK_ID,
    workflow_id: '018f0000-0000-7000-8000-0000000000b1',
    attempt: 1,
    trigger,
    ordinal: 0,
    origin: URL.parse(url)?.origin ?? url,
    action,
    tries: 1,
    first_try_at: systemClock.now(),
    traceparent: null,
    idempotency_key: `${TASK_ID}:end:success`,
    ...rest,
  };
}

export const LOOPBACK_POLICY: SsrfPolicy = { ...STRICT_SSRF_POLICY, allowLoopback: true };

const TRACING_OFF = await createTracer({ enabled: false } as never);

export type Dependencies = DeliverDependencies & {
  metrics: ReturnType<typeof createMetrics>;
  close: () => Promise<void>;
};

export function dependencies(
  changes: Partial<DeliverDependencies> & { agentOptions?: Partial<GuardedAgentOptions> } = {},
): Dependencies {
  const { agentOptions, ...rest } = changes;
  const policy = rest.policy ?? LOOPBACK_POLICY;
  const guard = new SsrfGuard(policy);
  const agent = createGuardedAgent({ guard, connectionsPerOrigin: 16, connectTimeoutMs: 10_000, ...agentOptions });
  const metrics = createMetrics({ processMetrics: false });
  return {
    agent,
    policy,
    identity: {
      hostUrl: 'https://heddle.example/base/',
      handleKey: Buffer.alloc(32, 7),
      signingKeys: [Buffer.alloc(32, 1), Buffer.alloc(32, 2)],
      version: '1.2.3',
    },
    schedules: DEFAULT_RETRY_SCHEDULES,
    tryLimitMs: 30_000,
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
    tracing: TRACING_OFF,
    ...rest,
    metrics,
    close: () => agent.destroy(),
  };
}

export interface LogLine {
  level: string;
  fields: Record<string, unknown>;
  message: string;
}

export function recordingLogger(lines: LogLine[]): Logger {
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields: fields as Record<string, unknown>, message });
  const logger: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => logger,
  };
  return logger;
}
