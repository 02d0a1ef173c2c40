import { InvalidArgumentError, Option, type Command } from 'commander';

import {
  DNS_TYPES,
  JSON_STYLES,
  RECON_DEFAULTS,
  type DnsRequest,
  type DnsType,
  type JsonStyle,
  type ReconAims,
  type TcpRequest,
  type TlsRequest,
} from '../../app/recon/request.ts';
import { amount, milliseconds, nonEmpty, repeated } from './scan-values.ts';

const RATE_MAX = 10_000_000;
const SEED_MAX = 999_999_999_999;
const TIMEOUT_MAX_MS = 600_000;

/** The values of the options that all probes have, as commander gives them. */
interface AimFlags {
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

export interface TcpFlags extends AimFlags {
  ports: string;
  allAddresses?: boolean;
  method: TcpRequest['method'];
  banner?: boolean;
  allStates?: boolean;
  retries: number;
  concurrency: number;
}

export interface DnsFlags extends AimFlags {
  types: DnsType[];
  wordlist?: string;
  wildcards?: boolean;
  allStates?: boolean;
  retries: number;
}

export interface TlsFlags extends AimFlags {
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
    .option('-p, --ports <list>', 'such as 22,80-90,top-100,!443 or all', nonEmpty, DEFAULTS.ports)
    .option('--all-addresses', 'probe names at each of their addresses, at most 16, not at the first alone');
  addPaceOptions(command, 'packets or connections')
    .option('--retries <count>', 'rounds over what did not answer', amount(0, 20), DEFAULTS.retries)
    .option('--timeout <time>', 'how long an answer may take (1s for syn, 3s for connect)', TIMEOUT)
    .option('--concurrency <count>', 'connections at once', amount(1, 60_000), DEFAULTS.connect_concurrency)
    .addOption(
      new Option('--method <method>', 'raw SYN packets, which need CAP_NET_RAW, or whole connections')
        .choices(['auto', 'syn', 'connect'])
        .default('auto'),
    );
  return addOutputOptions(command)
    .option('--banner', 'read what open ports say by themselves')
    .option('--all-states', 'report closed and filtered ports, too')
    .optionsGroup('Other:');
}

export function addDnsOptions(command: Command): Command {
  addTargetOptions(command)
    .option('--types <list>', `of ${DNS_TYPES.join(', ')}, or all; addresses are asked for PTR`, dnsTypes, [
      'A',
      'AAAA',
    ])
    .option('--wordlist <file>', 'also ask for each of these words below each name; - reads standard input', nonEmpty)
    .option('--wildcards', 'mark what zones answer for every name; on with --wordlist');
  addPaceOptions(command, 'queries')
    .option('--retries <count>', 'further tries of a query without an answer', amount(0, 20), DEFAULTS.retries)
    .option('--timeout <time>', 'how long an answer may take (2s)', TIMEOUT);
  return addOutputOptions(command)
    .option('--all-states', 'report words without an answer, and those that only a wildcard answers, too')
    .optionsGroup('Other:');
}

export function addTlsOptions(command: Command): Command {
  addTargetOptions(command)
    .option('-p, --ports <list>', 'of targets that do not name their own', nonEmpty, '443')
    .option('--all-addresses', 'probe names at each of their addresses, at most 16, not at the first alone')
    .option('--versions', 'ask for every version')
    .option('--ciphers', 'ask for every cipher suite')
    .option('--no-certificates', 'leave certificates out: one message each way is enough then')
    .addOption(
      new Option('--starttls <protocol>', 'what is spoken before the handshake; auto goes by the port')
        .choices(['auto', 'off', 'smtp', 'imap', 'ftp'])
        .default('auto'),
    )
    .option('--alpn <list>', 'protocols to offer, such as h2,http/1.1', commaSeparated)
    .option('--roots <file>', 'roots in PEM that are trusted, too; may be repeated', repeated);
  addPaceOptions(command, 'connections')
    .option('--timeout <time>', 'how long a connection may take (5s)', TIMEOUT)
    .option('--concurrency <count>', 'endpoints at once', amount(1, 10_000), DEFAULTS.tls_concurrency);
  return addOutputOptions(command).optionsGroup('Other:');
}

/** What the flags that all probes have ask for. */
export function aimsOf(targets: readonly string[], flags: AimFlags): ReconAims {
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
  return { probe: 'tcp', ...aimsOf(targets, flags), ports, method, retries, concurrency, ...asked };
}

export function dnsRequestOf(targets: readonly string[], flags: DnsFlags): DnsRequest {
  const { types, wordlist, retries } = flags;
  const asked = { wildcards: flags.wildcards === true, allStates: flags.allStates === true };
  return { probe: 'dns', ...aimsOf(targets, flags), types, wordlist, retries, ...asked };
}

export function tlsRequestOf(targets: readonly string[], flags: TlsFlags): TlsRequest {
  const { ports, certificates, starttls, concurrency, alpn = [], roots = [] } = flags;
  const allAddresses = flags.allAddresses === true;
  const asked = { allAddresses, versions: flags.versions === true, ciphers: flags.ciphers === true };
  return { probe: 'tls', ...aimsOf(targets, flags), ports, certificates, starttls, alpn, roots, concurrency, ...asked };
}

const DEFAULTS = RECON_DEFAULTS;
const TIMEOUT = milliseconds(1, TIMEOUT_MAX_MS);

function addTargetOptions(command: Command): Command {
  return command
    .optionsGroup('What is probed:')
    .option('-l, --list <file>', 'targets, one or more a line; - reads standard input; may be repeated', repeated)
    .option(
      '--exclude <entry>',
      'leave hosts out: targets without ports, *.domain, or a file; may be repeated',
      repeated,
    )
    .option(
      '--scope <entry>',
      'what may be probed beside loopback and private networks; may be repeated (HEDDLE_RECON_SCOPE)',
      repeated,
    )
    .option('--seed <number>', 'the random order; the same seed gives the same', amount(0, SEED_MAX))
    .option('--resolvers <list>', "servers to ask for names, ip or ip:port; the system's by default", commaSeparated);
}

function addPaceOptions(command: Command, packets: string): Command {
  return command
    .optionsGroup('How it is probed:')
    .option('--rate <count>', `${packets} a second; 0 is no limit`, amount(0, RATE_MAX), DEFAULTS.rate)
    .option('--host-rate <count>', 'the same to one host; 0 is no limit', amount(0, RATE_MAX), DEFAULTS.host_rate)
    .addOption(new Option('--unlimited', 'the same as --rate 0 --host-rate 0').implies({ rate: 0, hostRate: 0 }));
}

function addOutputOptions(command: Command): Command {
  return command
    .optionsGroup('What is reported:')
    .option('--dry-run', 'send nothing; say what would be sent, and how long it would take')
    .option('--json', 'one record a line on standard output, nothing else there')
    .addOption(
      new Option(
        '--json-style <style>',
        'members of records: those of heddle, or those that naabu, dnsx and tlsx write; implies --json',
      ).choices(JSON_STYLES),
    )
    .option('--no-progress', 'show no progress')
    .option('--quiet', 'records and errors only');
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
    throw new InvalidArgumentError(`${entry} is none of ${DNS_TYPES.join(', ')}, or all.`);
  });
}
