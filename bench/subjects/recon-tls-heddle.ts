import type { Endpoint } from '@heddle/recon/targets/port';
import { scanTls } from '@heddle/recon/tls/scan';
import { systemClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import type { HandshakeRequest, HandshakeRun, Subject } from '../src/subject.ts';

const CONCURRENCY = 64;
const UNPACED = { take: () => 0, available: (max: number) => max, observe: () => undefined, rate: Infinity };

async function handshakes({ port, duration_ms, certificates }: HandshakeRequest): Promise<HandshakeRun> {
  const endpoint: Endpoint = { host: 'www.example.test', ip: '127.0.0.1', family: 4, port };
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  const records = scanTls(
    {
      endpoints: {
        size: Number.MAX_SAFE_INTEGER,
        next: (max) => {
          const isOver = performance.now() - startedAt > duration_ms;
          return Promise.resolve(isOver ? [] : Array.from({ length: max }, () => endpoint));
        },
      },
      timeoutMs: 5000,
      concurrency: CONCURRENCY,
      starttls: 'off',
      alpn: [],
      certificates,
      versions: false,
      ciphers: false,
    },
    { clock: systemClock, random: systemRandom, signal: new AbortController().signal, pace: UNPACED },
  );
  let count = 0;
  for await (const record of records) {
    if (certificates ? record.subject_cn !== 'www.example.test' : !record.probe_status)
      throw new Error(`a probe failed: ${JSON.stringify(record)}`);
    count += 1;
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  return { count, wall_ms: performance.now() - startedAt, cpu_ms: (user + system) / 1000 };
}

export function createSubject(): Subject {
  return { prepare: () => Promise.resolve(), close: () => Promise.resolve(), handshakes };
}
