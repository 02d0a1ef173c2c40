import { InvalidArgumentError, Option, type Command } from 'commander';

import { amount, milliseconds, nonEmpty, repeated } from '@heddle/base/terminal/flag-values';
import { DNS_TYPES } from '../dns/codes.ts';
import { RECON_DEFAULTS } from '../options.ts';
import type { DnsType } from '../records.ts';
import {
  JSON_STYLES,
  type DnsRequest,
  type JsonStyle,
  type ReconTargetOptions,
  type TcpRequest,
  type TlsRequest,
} from './request.ts';

const RATE_MAX = 10_000_000;
const SEED_MAX = 999_999_999_999;
const TIMEOUT_MAX_MS = 600_000;

/** The values of the options that all probes share, as commander returns them. */
interface TargetFlags {
  list?: string[];
  exclude?: string[];
  scope?: string[];
  rate: number;
  hostRate: number;
  seed?: number;
  resolvers?: string[];
  timeout?: number;
  dryRun?: boolean;
  json?: boolean;
  jsonStyle?: JsonStyle;
  progress: boolean;
  quiet?: boolean;
}

export interface TcpFlags extends TargetFlags {
  ports: string;
  allAddresses?: boolean;
  method: TcpRequest['method'];
  banner?: boolean;
  allStates?: boolean;
  retries: number;
  concurrency: number;
}

export interface DnsFlags extends TargetFlags {
  types: DnsType[];
  wordlist?: string;
  wildcards?: boolean;
  allStates?: boolean;
  retries: number;
}

export interface TlsFlags extends TargetFlags {
  ports: string;
  allAddresses?: boolean;
  versions?: boolean;
  ciphers?: boolean;
  certificates: boolean;
  starttls: TlsRequest['starttls'];
  alpn?: string[];
  roots?: string[];
  concurrency: number;
}

export function addTcpOptions(command: Command): Command {
  addTargetOptions(command)
    .option('-p, --ports <list>', 'Ports, such as 22,80-90,top-100,!443 or all', nonEmpty, DEFAULTS.ports)
    .option('--all-addresses', 'Probe names at each of their addresses, at most 16, instead of the first only');
  addPaceOptions(command, 'packets or connections')
    .option('--retries <count>', 'Retry rounds for what did not answer', amount(0, 20), DEFAULTS.retries)
    .option('--timeout <time>', 'Timeout of a response (1s for syn, 3s for connect)', TIMEOUT)
    .option('--concurrency <count>', 'Concurrent connections', amount(1, 60_000), DEFAULTS.connect_concurrency)
    .addOption(
      new Option('--method <method>', 'Raw SYN packets, which need CAP_NET_RAW, or full connections')
        .choices(['auto', 'syn', 'connect'])
        .default('auto'),
    );
  return addOutputOptions(command)
    .option('--banner', 'Read the banners of open ports')
    .option('--all-states', 'Also report closed and filtered ports')
    .optionsGroup('Other:');
}

export function addDnsOptions(command: Command): Command {
  addTargetOptions(command)
    .option('--types <list>', `Types: ${DNS_TYPES.join(', ')}, or all; addresses are queried for PTR`, dnsTypes, [
      'A',
      'AAAA',
    ])
    .option('--wordlist <file>', 'Also query each of these words below each name; - reads standard input', nonEmpty)
    .option('--wildcards', 'Detect wildcard answers of zones; on with --wordlist');
  addPaceOptions(command, 'queries')
    .option('--retries <count>', 'Retries of an unanswered query', amount(0, 20), DEFAULTS.retries)
    .option('--timeout <time>', 'Timeout of a response (2s)', TIMEOUT);
  return addOutputOptions(command)
    .option('--all-states', 'Also report words without an answer, and those that only a wildcard answers')
    .optionsGroup('Other:');
}

export function addTlsOptions(command: Command): Command {
  addTargetOptions(command)
    .option('-p, --ports <list>', 'Ports of targets that name none', nonEmpty, '443')
    .option('--all-addresses', 'Probe names at each of their addresses, at most 16, instead of the first only')
    .option('--versions', 'Test every protocol version')
    .option('--ciphers', 'Test every cipher suite')
    .option('--no-certificates', 'Skip certificates: one message each way is then enough')
    .addOption(
      new Option('--starttls <protocol>', 'Protocol before the handshake; auto selects by port')
        .choices(['auto', 'off', 'smtp', 'imap', 'ftp'])
        .default('auto'),
    )
    .option('--alpn <list>', 'Protocols to offer, such as h2,http/1.1', commaSeparated)
    .option('--roots <file>', 'Additional trusted roots, PEM; may be repeated', repeated);
  addPaceOptions(command, 'connections')
    .option('--timeout <time>', 'Timeout of a connection (5s)', TIMEOUT)
    .option('--concurrency <count>', 'Concurrent endpoints', amount(1, 10_000), DEFAULTS.tls_concurrency);
  return addOutputOptions(command).optionsGroup('Other:');
}

/** Converts the flags that all probes share. */
function targetOptionsOf(targets: readonly string[], flags: TargetFlags): ReconTargetOptions {
  return {
    targets,
    lists: flags.list ?? [],
    exclude: flags.exclude ?? [],
    scope: flags.scope ?? [],
    rate: unlimitedAtZero(flags.rate),
    hostRate: unlimitedAtZero(flags.hostRate),
    seed: flags.seed ?? null,
    resolvers: flags.resolvers ?? [],
    timeoutMs: flags.timeout ?? null,
    dryRun: flags.dryRun === true,
    json: flags.json === true || flags.jsonStyle !== undefined,
    jsonStyle: flags.jsonStyle ?? 'heddle',
    quiet: flags.quiet === true,
  };
}

export function tcpRequestOf(targets: readonly string[], flags: TcpFlags): TcpRequest {
  const { ports, method, retries, concurrency } = flags;
  const allAddresses = flags.allAddresses === true;
  const asked = { allAddresses, banner: flags.banner === true, allStates: flags.allStates === true };
  return { probe: 'tcp', ...targetOptionsOf(targets, flags), ports, method, retries, concurrency, ...asked };
}

export function dnsRequestOf(targets: readonly string[], flags: DnsFlags): DnsRequest {
  const { types, wordlist, retries } = flags;
  const asked = { wildcards: flags.wildcards === true, allStates: flags.allStates === true };
  return { probe: 'dns', ...targetOptionsOf(targets, flags), types, wordlist, retries, ...asked };
}

export function tlsRequestOf(targets: readonly string[], flags: TlsFlags): TlsRequest {
  const { ports, certificates, starttls, concurrency, alpn = [], roots = [] } = flags;
  const allAddresses = flags.allAddresses === true;
  const asked = { allAddresses, versions: flags.versions === true, ciphers: flags.ciphers === true };
  return {
    probe: 'tls',
    ...targetOptionsOf(targets, flags),
    ports,
    certificates,
    starttls,
    alpn,
    roots,
    concurrency,
    ...asked,
  };
}

const DEFAULTS = RECON_DEFAULTS;
const TIMEOUT = milliseconds(1, TIMEOUT_MAX_MS);

function addTargetOptions(command: Command): Command {
  return command
    .optionsGroup('Targets:')
    .option(
      '-l, --list <file>',
      'File of targets, one or more per line; - reads standard input; may be repeated',
      repeated,
    )
    .option('--exclude <entry>', 'Exclude hosts: targets without ports, *.domain, or a file; may be repeated', repeated)
    .option(
      '--scope <entry>',
      'Allowed targets beyond loopback and private networks; may be repeated (HEDDLE_RECON_SCOPE)',
      repeated,
    )
    .option('--seed <number>', 'Seed of the random order', amount(0, SEED_MAX))
    .option('--resolvers <list>', 'DNS servers, ip or ip:port (default those of the system)', commaSeparated);
}

function addPaceOptions(command: Command, packets: string): Command {
  return command
    .optionsGroup('Pace:')
    .option('--rate <count>', `${packets} per second; 0 for no limit`, amount(0, RATE_MAX), DEFAULTS.rate)
    .option('--host-rate <count>', 'The same per host; 0 for no limit', amount(0, RATE_MAX), DEFAULTS.host_rate)
    .addOption(new Option('--unlimited', 'Same as --rate 0 --host-rate 0').implies({ rate: 0, hostRate: 0 }));
}

function addOutputOptions(command: Command): Command {
  return command
    .optionsGroup('Output:')
    .option('--dry-run', 'Send nothing; print what would be sent and how long it would take')
    .option('--json', 'Print only JSON on standard output, one record per line')
    .addOption(
      new Option(
        '--json-style <style>',
        'Members of records: those of Heddle, or those of naabu, dnsx and tlsx; implies --json',
      ).choices(JSON_STYLES),
    )
    .option('--no-progress', 'Hide progress')
    .option('--quiet', 'Print records and errors only');
}

function unlimitedAtZero(rate: number): number {
  return rate === 0 ? Infinity : rate;
}

function commaSeparated(text: string, before: readonly string[] = []): string[] {
  const entries = nonEmpty(text).split(/[\s,]+/);
  return [...before, ...entries.filter((entry) => entry !== '')];
}

function dnsTypes(text: string): DnsType[] {
  if (text.toLowerCase() === 'all') return [...DNS_TYPES];
  return commaSeparated(text).map((entry) => {
    const type = DNS_TYPES.find((each) => each === entry.toUpperCase());
    if (type !== undefined) return type;
    throw new InvalidArgumentError(`${entry} is not one of ${DNS_TYPES.join(', ')}, all.`);
  });
}
