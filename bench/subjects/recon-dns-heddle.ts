import { scanDns } from '@heddle/recon/dns/scan';
import { RECON_DEFAULTS } from '@heddle/recon/options';
import { systemClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import { nameOf } from '../src/recon/dns-server.ts';
import type { LookupRequest, LookupRun, Subject } from '../src/subject.ts';

const UNPACED = { take: () => 0, available: (max: number) => max, observe: () => undefined, rate: Infinity };

function* names(count: number): Generator<string, void> {
  for (let index = 0; index < count; index++) yield nameOf(index);
}

async function lookups({ port, count }: LookupRequest): Promise<LookupRun> {
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  const records = scanDns(
    {
      names: names(count),
      total: count,
      types: ['A'],
      resolvers: [`127.0.0.1:${port}`],
      retries: RECON_DEFAULTS.retries,
      timeoutMs: RECON_DEFAULTS.dnsTimeoutMs,
      inFlight: RECON_DEFAULTS.dnsInFlight,
      wildcards: false,
      scope: { check: () => ({ allowed: true }), checkName: () => ({ allowed: true }) },
    },
    { clock: systemClock, random: systemRandom, signal: new AbortController().signal, pace: UNPACED },
  );
  let answered = 0;
  for await (const { a } of records) if (a !== undefined) answered += 1;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { answered, wall_ms: performance.now() - startedAt, cpu_ms: (user + system) / 1000 };
}

export function createSubject(): Subject {
  return { prepare: () => Promise.resolve(), close: () => Promise.resolve(), lookups };
}
