import { readFileSync } from 'node:fs';

import { refused, systemFault } from '@heddle/base/terminal/refusal';
import { RECON_DEFAULTS, type ProbeEnvironment } from '../options.ts';
import type { DnsRecord, ReconRecord } from '../records.ts';
import { Permutation } from '../targets/permutation.ts';
import type { EndpointSource } from '../targets/port.ts';
import type { TargetList } from '../targets/target-list.ts';
import { wordsOf } from './plan.ts';
import type { DnsRequest, TcpRequest, TlsRequest } from './options.ts';
import type { ResolvedTargets } from './resolve-targets.ts';

/** Loaded on first use: each probe is a large module. */
export async function tcpRecords(
  request: TcpRequest,
  endpoints: EndpointSource,
  environment: ProbeEnvironment,
): Promise<AsyncIterable<ReconRecord>> {
  const { scanTcp } = await import('../tcp/scan.ts');
  const options = {
    endpoints,
    method: request.method,
    states: request.allStates ? (['open', 'closed', 'filtered'] as const) : (['open'] as const),
    retries: request.retries,
    timeoutMs: request.timeoutMs ?? (await tcpTimeoutMs(request, environment)),
    concurrency: request.concurrency,
    banner: request.banner,
  };
  return scanTcp(options, environment);
}

async function tcpTimeoutMs({ method }: TcpRequest, { random }: ProbeEnvironment): Promise<number> {
  if (method === 'connect') return RECON_DEFAULTS.connectTimeoutMs;
  if (method === 'syn') return RECON_DEFAULTS.synTimeoutMs;
  const { openSyn } = await import('../tcp/syn/open-syn.ts');
  const { available } = await openSyn(random);
  return available ? RECON_DEFAULTS.synTimeoutMs : RECON_DEFAULTS.connectTimeoutMs;
}

export async function tlsRecords(
  request: TlsRequest,
  endpoints: EndpointSource,
  environment: ProbeEnvironment,
): Promise<AsyncIterable<ReconRecord>> {
  const { scanTls } = await import('../tls/scan.ts');
  const options = {
    endpoints,
    timeoutMs: request.timeoutMs ?? RECON_DEFAULTS.tlsTimeoutMs,
    concurrency: request.concurrency,
    starttls: request.starttls,
    alpn: request.alpn,
    certificates: request.certificates,
    versions: request.versions,
    ciphers: request.ciphers,
    roots: request.roots.map(readRoots),
  };
  return scanTls(options, environment);
}

function readRoots(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw refused(`--roots ${path}: ${systemFault(error)}`, error);
  }
}

/** @param words number of words; null if not counted */
export async function dnsRecords(
  request: DnsRequest,
  { targets, scope, seed, words }: Pick<ResolvedTargets, 'targets' | 'scope'> & { seed: number; words: number | null },
  environment: ProbeEnvironment,
): Promise<AsyncIterable<ReconRecord>> {
  const { scanDns } = await import('../dns/scan.ts');
  const domains = [...targets.names, ...targets.pinnedHosts.filter(({ ip }) => ip === null).map(({ host }) => host)];
  const hasAddresses = domains.length < targets.size;
  const names = hostsOf(targets, seed);
  const { wordlist } = request;
  const options = {
    names: wordlist === null ? names : withWords(names, domains, wordlist),
    total: words === null ? null : targets.size + words * domains.length,
    // Names are not queried for PTR along with other types, and addresses only for PTR.
    types: hasAddresses && !request.types.includes('PTR') ? [...request.types, 'PTR' as const] : request.types,
    resolvers: request.resolvers,
    retries: request.retries,
    timeoutMs: request.timeoutMs ?? RECON_DEFAULTS.dnsTimeoutMs,
    inFlight: RECON_DEFAULTS.dnsInFlight,
    wildcards: request.wildcards || wordlist !== null,
    scope,
  };
  const records = scanDns(options, environment);
  return wordlist === null || request.allStates ? records : answered(records, new Set(domains));
}

/** Names and addresses in a random order. */
function* hostsOf(targets: TargetList, seed: number): Generator<string, void> {
  const order = new Permutation(targets.size, seed);
  for (let index = 0; index < targets.size; index += 1) yield targets.at(order.at(index)).host;
}

async function* withWords(
  names: Iterable<string>,
  domains: readonly string[],
  wordlist: string,
): AsyncGenerator<string, void> {
  const { expandNames } = await import('../dns/wordlist.ts');
  yield* names;
  yield* expandNames(domains, wordsOf(wordlist));
}

/** Of the names made from words, keeps those that exist: most do not, and a wildcard proves nothing about them. */
async function* answered(
  records: AsyncIterable<DnsRecord>,
  domains: ReadonlySet<string>,
): AsyncGenerator<DnsRecord, void> {
  for await (const record of records) {
    if (domains.has(record.host) || (record.ttl !== null && record.wildcard !== true)) yield record;
  }
}
