import { Resolver } from 'node:dns/promises';
import { nameOf } from '../src/recon/dns-server.ts';
import type { LookupRequest, LookupRun, Subject } from '../src/subject.ts';

/** Higher concurrency gains nothing: the server's buffer overflows, and each loss costs a timeout. */
const CONCURRENCY = 128;

async function lookups({ port, count }: LookupRequest): Promise<LookupRun> {
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  const resolver = new Resolver({ timeout: 2000, tries: 4 });
  resolver.setServers([`127.0.0.1:${port}`]);
  let next = 0;
  let answered = 0;
  const lane = async (): Promise<void> => {
    while (next < count) {
      const addresses = await resolver.resolve4(nameOf(next++));
      if (addresses.length === 1) answered += 1;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, lane));
  const { user, system } = process.cpuUsage(cpuBefore);
  return { answered, wall_ms: performance.now() - startedAt, cpu_ms: (user + system) / 1000 };
}

export function createSubject(): Subject {
  return { prepare: () => Promise.resolve(), close: () => Promise.resolve(), lookups };
}
