import type { RemoteManager } from '@heddle/executor/manager/port';
import type { Listener } from '@heddle/executor/listener';
import { openTcpListener } from '@heddle/executor/tcp/server';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import type { MemoryExecutor } from './memory-executor.ts';

/** Serves an executor to other processes over TCP on loopback. */
export async function listen(executor: MemoryExecutor): Promise<{ url: string; listener: Listener }> {
  const manager: RemoteManager = {
    handle: async ({ request }) => ({
      response: await executor.handle(request),
      code: null,
      pending: false,
      retryAfterSecs: undefined,
    }),
    health: () => ({
      status: 'healthy',
      workers: 1,
      busy: 0,
      queue_depth: 0,
      uptime_seconds: 1,
      tier: 'process',
      listeners: ['tcp'],
    }),
  };
  const common = { clock: systemClock, log: silentLogger };
  const listener = await openTcpListener({ manager, host: '127.0.0.1', port: 0, tls: null, ...common });
  return { url: `tcp+plain://127.0.0.1:${listener.address.port}`, listener };
}
