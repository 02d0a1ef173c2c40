import type { ProbeEnvironment, TlsOptions } from '../../../src/options.ts';
import type { TlsRecord } from '../../../src/records.ts';
import type { Endpoint, EndpointSource, Pace } from '../../../src/targets/port.ts';
import { scanTls } from '../../../src/tls/scan.ts';
import { systemClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';

const UNPACED: Pace = { take: () => 0, available: (max) => max, observe: () => undefined, rate: Infinity };

export function endpointsOf(endpoints: readonly Endpoint[]): EndpointSource {
  let at = 0;
  return {
    size: endpoints.length,
    next: (max) => {
      at += max;
      return Promise.resolve(endpoints.slice(at - max, at));
    },
  };
}

export function environmentOf(overrides: Partial<ProbeEnvironment> = {}): ProbeEnvironment {
  const signal = new AbortController().signal;
  return { clock: systemClock, random: systemRandom, signal, pace: UNPACED, ...overrides };
}

export function optionsOf(overrides: Partial<TlsOptions> & Pick<TlsOptions, 'endpoints'>): TlsOptions {
  return {
    timeoutMs: 5000,
    concurrency: 8,
    starttls: 'auto',
    alpn: [],
    certificates: true,
    versions: false,
    ciphers: false,
    ...overrides,
  };
}

export interface ProbeRequest extends Partial<TlsOptions> {
  host?: string;
  port: number;
}

/** Returns the record of one loopback endpoint. */
export async function probe({ host = '127.0.0.1', port, ...options }: ProbeRequest): Promise<TlsRecord> {
  const endpoints = endpointsOf([{ host, ip: '127.0.0.1', family: 4, port }]);
  const records = await collect(scanTls(optionsOf({ endpoints, ...options }), environmentOf()));
  if (records.length !== 1) throw new Error(`${records.length} records of one endpoint`);
  return records[0]!;
}

export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of source) all.push(one);
  return all;
}
