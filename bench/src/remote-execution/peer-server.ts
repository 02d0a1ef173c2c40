import { openTcpListener } from '@heddle/executor/tcp/server';
import type { RemoteManager } from '@heddle/executor/manager/port';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { FreshNodePool, PreForkedPool } from './pools.ts';
import type { TaskPool } from './pools.ts';

const NO_BYTES = new Uint8Array();

/** Responds to every submission with the result of the pool. Checks no signature, stores nothing and limits nothing. */
function managerOf(pool: TaskPool): RemoteManager {
  return {
    async handle({ request }) {
      const payload = Buffer.from(await pool.run(Buffer.from(request.payload).toString()));
      const { key_id, timestamp_ms, nonce, client, audience, method } = request;
      const envelope = { key_id, timestamp_ms, nonce, client, audience, method, correlation_id: '', sequence: 0 };
      return {
        response: { ...envelope, payload, mac: NO_BYTES },
        code: null,
        pending: false,
        retryAfterSecs: undefined,
      };
    },
    health: () => ({
      ...{
        status: 'healthy',
        workers: 2,
        busy: 0,
        queue_depth: 0,
        uptime_seconds: 0,
        tier: 'pooled',
        listeners: ['tcp'],
      },
    }),
  };
}

// The process of a peer: prints its port, and ends with its parent.
const pool = process.argv[2] === 'pre-forked' ? new PreForkedPool() : new FreshNodePool();
const listener = await openTcpListener({
  manager: managerOf(pool),
  host: '127.0.0.1',
  port: 0,
  tls: null,
  clock: systemClock,
  log: silentLogger,
});
process.send!(listener.address.port);
process.on('disconnect', () => process.exit(0));
