import { once } from 'node:events';
import { connect } from 'node:tls';
import type { HandshakeRequest, HandshakeRun, Subject } from '../src/subject.ts';

const CONCURRENCY = 64;

async function handshakes({ port, duration_ms }: HandshakeRequest): Promise<HandshakeRun> {
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  let count = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() - startedAt < duration_ms) {
      const socket = connect({ port, host: '127.0.0.1', servername: 'www.example.test', rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      if (socket.getPeerX509Certificate() === undefined) throw new Error('a handshake without a certificate');
      socket.on('error', () => undefined);
      socket.destroy();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, lane));
  const { user, system } = process.cpuUsage(cpuBefore);
  return { count, wall_ms: performance.now() - startedAt, cpu_ms: (user + system) / 1000 };
}

export function createSubject(): Subject {
  return { prepare: () => Promise.resolve(), close: () => Promise.resolve(), handshakes };
}
