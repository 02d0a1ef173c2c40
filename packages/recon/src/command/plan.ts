import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

import { ADDRESSES_MAX } from '../targets/name-resolutions.ts';
import { ciphersOf } from '../tls/cipher-suites.ts';
import { TLS_VERSIONS } from '../tls/protocol.ts';
import type { ReconRequest, TcpRequest, TlsRequest } from './options.ts';
import type { ReconPlan } from './request.ts';
import type { ResolvedTargets } from './resolve-targets.ts';

/** Estimates the most that a run would send. */
export function planOf(request: ReconRequest, aims: ResolvedTargets, seed: number, words: number | null): ReconPlan {
  const { targets, refusedHosts, ports } = aims;
  const plain = targets.size - targets.pinned;
  const endpoints = endpointsOf(request, aims, words);
  const perEndpoint = packetsEach(request);
  const packets = endpoints === null ? null : endpoints * perEndpoint;
  // Names are queried at resolvers, so the rate per host does not apply.
  const toOneHost = request.probe === 'dns' || targets.size === 0 ? 0 : (plain > 0 ? ports.length : 1) * perEndpoint;
  const secs =
    packets === null ? null : Math.max(durationOf(packets, request.rate), durationOf(toOneHost, request.hostRate));
  return {
    type: 'plan',
    probe: request.probe,
    targets: targets.size,
    refused: Number(refusedHosts),
    ports: request.probe === 'dns' ? null : ports.length,
    endpoints,
    packets_max: packets,
    duration_secs_max: secs === null || (request.rate === Infinity && secs === 0) ? null : secs,
    rate: finite(request.rate),
    host_rate: finite(request.hostRate),
    seed,
  };
}

/** Explains that the rate per host keeps a run below the requested rate; null if it does not. */
export function hostRateNotice(request: ReconRequest, { targets }: ResolvedTargets): string | null {
  const { rate, hostRate } = request;
  // Queries go to resolvers; the number of the system's resolvers is not known here.
  const hosts = request.probe === 'dns' ? Math.max(1, request.resolvers.length) : targets.size;
  if (hostRate * hosts >= rate) return null;
  const host = request.probe === 'dns' ? 'resolver' : 'host';
  return `limited to ${hostRate.toLocaleString('en-US')}/s to one ${host} by --host-rate; --unlimited lifts both limits`;
}

/** Number of endpoints or questions; null if the words were not counted. */
function endpointsOf(request: ReconRequest, { targets, ports }: ResolvedTargets, words: number | null): number | null {
  if (request.probe !== 'dns') {
    const plain = targets.size - targets.pinned + further(request, targets.names.length);
    const names = targets.pinnedHosts.filter(({ ip }) => ip === null).length;
    return plain * ports.length + targets.pinned + further(request, names);
  }
  if (words === null) return null;
  const addresses = Number(targets.addresses.count) + targets.pinnedHosts.filter(({ ip }) => ip !== null).length;
  const names = targets.size - addresses;
  return addresses + names * (words + 1) * request.types.length;
}

/** Number of further addresses that names may have if all of them are probed. */
function further(request: TcpRequest | TlsRequest, names: number): number {
  return request.allAddresses ? names * (ADDRESSES_MAX - 1) : 0;
}

/** A certificate may need a second connection, and a refused one a third. */
const TLS_CONNECTIONS_MAX = 3;

function packetsEach(request: ReconRequest): number {
  if (request.probe !== 'tls') return 1 + request.retries;
  const versions = request.versions ? TLS_VERSIONS.length : 0;
  return TLS_CONNECTIONS_MAX + versions + (request.ciphers ? suitesAskedFor(request.versions) : 0);
}

/** Each accepted suite costs a connection, and two more confirm that no other is accepted. */
function suitesAskedFor(allVersions: boolean): number {
  const each = TLS_VERSIONS.map((version) => ciphersOf(version).length + 2);
  return allVersions ? each.reduce((sum, count) => sum + count, 0) : Math.max(...each);
}

function durationOf(packets: number, rate: number): number {
  return rate === Infinity ? 0 : packets / rate;
}

function finite(rate: number): number | null {
  return rate === Infinity ? null : rate;
}

/** Yields the words of a list without comments and blank lines. */
export async function* wordsOf(path: string): AsyncGenerator<string, void> {
  const input = path === '-' ? process.stdin : createReadStream(path);
  const lines = createInterface({ input, crlfDelay: Infinity });
  try {
    for await (const line of lines) {
      const word = line.trim();
      if (word !== '' && !word.startsWith('#')) yield word;
    }
  } finally {
    lines.close();
    input.destroy();
  }
}

/** Number of words in a list; null for standard input, which can be read only once. */
export async function countWords(path: string | null): Promise<number | null> {
  if (path === null) return 0;
  if (path === '-') return null;
  let count = 0;
  for await (const _ of wordsOf(path)) count += 1;
  return count;
}
