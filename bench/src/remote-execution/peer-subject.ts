import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { openTcpTransport } from '@heddle/executor/internal/tcp/client';
import type { CallOptions, ClientTransport } from '@heddle/executor/client/port';
import { systemClock } from '@heddle/base/clock';
import { sendCalls } from './load.ts';
import type { Subject } from '../subject.ts';

const PAYLOAD = Buffer.from(JSON.stringify({ event_name: 'NoOp', args: {} }));
const NONCE = 'A'.repeat(22);
const ENVELOPE = { key_id: 'none', nonce: NONCE, client: 'bench', audience: 'peer', method: 'submit' } as const;
const MAC = new Uint8Array(32);

/** A pool behind TCP in a separate process, with an unsigned client. */
export function createPeerSubject(pool: 'pre-forked' | 'fresh-node'): Subject {
  let server: ChildProcess;
  let transport: ClientTransport;
  const options: CallOptions = { signal: new AbortController().signal, token: null, traceparent: null };
  const call = async (): Promise<void> => {
    const request = { ...ENVELOPE, timestamp_ms: Date.now(), payload: PAYLOAD, mac: MAC };
    const { payload } = await transport.call(request, options);
    const { status } = JSON.parse(Buffer.from(payload).toString()) as { status: string };
    if (status !== 'success') throw new Error(`a task ended with ${status}`);
  };
  return {
    async prepare() {
      server = fork(join(import.meta.dirname, 'peer-server.ts'), [pool]);
      const [port] = (await once(server, 'message')) as [number];
      const endpoint = { protocol: 'tcp', host: '127.0.0.1', port, tls: false } as const;
      transport = openTcpTransport(endpoint, null, { clock: systemClock });
    },
    async close() {
      await transport.close();
      const exited = once(server, 'exit');
      server.disconnect();
      await exited;
    },
    remoteLoad: (request) => sendCalls(call, request),
  };
}
