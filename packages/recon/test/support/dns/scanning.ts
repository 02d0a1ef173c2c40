import type { DnsOptions, ProbeEnvironment } from '../../../src/options.ts';
import type { DnsRecord } from '../../../src/records.ts';
import { scanDns } from '../../../src/dns/scan.ts';
import type { Pace, Scope } from '../../../src/targets/port.ts';
import { systemClock } from '@heddle/base/clock';
import { seededRandom } from '@heddle/base/random';

export { eventually } from '@heddle/test-support/eventually';
export * from '@heddle/test-support/name-server';

export const EVERYTHING: Scope = { check: () => ({ allowed: true }), checkName: () => ({ allowed: true }) };

const UNLIMITED: Pace = { take: () => 0, available: (max) => max, observe: () => undefined, rate: Infinity };

export function options(changes: Partial<DnsOptions> & Pick<DnsOptions, 'names' | 'resolvers'>): DnsOptions {
  return {
    total: null,
    types: ['A'],
    retries: 3,
    timeoutMs: 2000,
    inFlight: 4096,
    wildcards: false,
    scope: EVERYTHING,
    ...changes,
  };
}

export function environment(changes: Partial<ProbeEnvironment> = {}): ProbeEnvironment {
  const signal = new AbortController().signal;
  return { clock: systemClock, random: seededRandom(1), signal, pace: UNLIMITED, ...changes };
}

export interface Scanned {
  records: DnsRecord[];
  notices: string[];
}

/** Runs a scan to completion. */
export async function scan(
  changes: Parameters<typeof options>[0],
  environmentChanges: Partial<ProbeEnvironment> = {},
): Promise<Scanned> {
  const notices: string[] = [];
  const records: DnsRecord[] = [];
  const onNotice = (notice: string): void => void notices.push(notice);
  for await (const record of scanDns(options(changes), environment({ onNotice, ...environmentChanges }))) {
    records.push(record);
  }
  return { records, notices };
}

/** Counts the open UDP sockets of this process; a name server has two. */
export function udpSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'UDPWrap').length;
}

export function* numbered(count: number, zone = 'example.test'): Generator<string, void> {
  for (let index = 0; index < count; index++) yield `host${index}.${zone}`;
}
