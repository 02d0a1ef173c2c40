import {
  choice,
  duration,
  integer,
  list,
  optionalText,
  repeated,
  setting,
  text,
  toggle,
  type Setting,
  type ValuesOf,
} from '@heddle/base/setting';
import { valuesOf } from '@heddle/base/terminal/setting-options';
import { DNS_TYPES } from '../dns/codes.ts';
import { RECON_DEFAULTS as DEFAULTS } from '../options.ts';
import type { DnsType } from '../records.ts';

const SEPARATOR = /[\s,]+/;

/** Packets, queries or connections per second. `--unlimited` changes only the default. */
function rate(flag: string, description: string, fallback: number): Setting<number | null> {
  return integer({ flag, description, fallback: null, fallbackText: String(fallback), min: 0, max: 10_000_000 });
}

/** Null for the default of the probe. */
function timeout(description: string, fallbackText: string): Setting<number | null> {
  return duration({ flag: '--timeout <time>', description, fallback: null, fallbackText, min: 1, max: 600_000 });
}

function retries(description: string): Setting<number> {
  return integer({ flag: '--retries <count>', fallback: DEFAULTS.retries, min: 0, max: 20, description });
}

function concurrency(description: string, fallback: number, max: number): Setting<number> {
  return integer({ flag: '--concurrency <count>', fallback, min: 1, max, description });
}

const allAddresses = toggle(
  '--all-addresses',
  'Probe names at each of their addresses, at most 16, instead of the first only',
);

/** The options of every probe, by the group of its help. */
export const RECON_OPTIONS = {
  Targets: {
    lists: repeated(
      '-l, --list <file>',
      'File of targets, one or more per line; - reads standard input; may be repeated',
    ),
    exclude: repeated(
      '--exclude <entry>',
      'Exclude hosts: targets without ports, *.domain, or a file; may be repeated',
    ),
    scope: repeated(
      '--scope <entry>',
      'Allowed targets beyond loopback and private networks, or a file; may be repeated (HEDDLE_RECON_SCOPE)',
    ),
    seed: integer({
      flag: '--seed <number>',
      fallback: null,
      fallbackText: 'a new one each time',
      min: 0,
      max: 999_999_999_999,
      description: 'Seed of the random order',
    }),
    resolvers: list({
      flag: '--resolvers <list>',
      fallback: [],
      fallbackText: 'those of the system',
      separator: SEPARATOR,
      description: 'DNS servers, ip or ip:port',
    }),
  },
  Pace: {
    rate: rate('--rate <count>', 'Packets, queries or connections per second; 0 for no limit', DEFAULTS.rate),
    hostRate: rate('--host-rate <count>', 'The same per host; 0 for no limit', DEFAULTS.hostRate),
    unlimited: toggle('--unlimited', 'Same as --rate 0 --host-rate 0; either may still be given'),
  },
  Output: {
    dryRun: toggle('--dry-run', 'Send nothing; print what would be sent and how long it would take'),
    json: toggle('--json', 'Print only JSON on standard output, one record per line'),
    jsonStyle: choice({
      flag: '--json-style <style>',
      fallback: null,
      words: ['heddle', 'projectdiscovery'],
      description: 'Members of records: those of Heddle, or those of naabu, dnsx and tlsx; implies --json',
    }),
    progress: toggle('--no-progress', 'Hide progress'),
    quiet: toggle('--quiet', 'Print records and errors only'),
  },
};

/** The options of one probe only. */
export const PROBE_OPTIONS = {
  tcp: {
    Targets: {
      ports: text({
        flag: '-p, --ports <list>',
        fallback: DEFAULTS.ports,
        description: 'Ports, such as 22,80-90,top-100,!443 or all',
      }),
      allAddresses,
    },
    Pace: {
      retries: retries('Retry rounds for what did not answer'),
      timeoutMs: timeout('Timeout of a response', '1s for syn, 3s for connect'),
      concurrency: concurrency('Concurrent connections', DEFAULTS.connectConcurrency, 60_000),
      method: choice({
        flag: '--method <method>',
        fallback: 'auto',
        words: ['auto', 'syn', 'connect'],
        description: 'Raw SYN packets, which need CAP_NET_RAW, or full connections',
      }),
    },
    Output: {
      banner: toggle('--banner', 'Read the banners of open ports'),
      allStates: toggle('--all-states', 'Also report closed and filtered ports'),
    },
  },
  dns: {
    Targets: {
      types: setting<readonly DnsType[]>(
        {
          flag: '--types <list>',
          fallback: ['A', 'AAAA'],
          description: `Types: ${DNS_TYPES.join(', ')}, or all; addresses are queried for PTR`,
        },
        {
          allowed: `a list of ${DNS_TYPES.join(', ')}, or all`,
          parse: (given) => {
            if (given.toLowerCase() === 'all') return { value: DNS_TYPES };
            const types = given
              .toUpperCase()
              .split(SEPARATOR)
              .map((name) => DNS_TYPES.find((type) => type === name));
            return types.includes(undefined) ? null : { value: types as DnsType[] };
          },
          show: (types) => types.join(','),
        },
      ),
      wordlist: optionalText('--wordlist <file>', 'Also query each word below each name; - reads standard input'),
      wildcards: toggle('--wildcards', 'Detect wildcard answers of zones; on with --wordlist'),
    },
    Pace: {
      retries: retries('Retries of an unanswered query'),
      timeoutMs: timeout('Timeout of a response', '2s'),
    },
    Output: {
      allStates: toggle('--all-states', 'Also report words without an answer, and those that only a wildcard answers'),
    },
  },
  tls: {
    Targets: {
      ports: text({ flag: '-p, --ports <list>', fallback: '443', description: 'Ports of targets that name none' }),
      allAddresses,
      versions: toggle('--versions', 'Test every protocol version'),
      ciphers: toggle('--ciphers', 'Test every cipher suite'),
      certificates: toggle('--no-certificates', 'Skip certificates: one message each way is then enough'),
      starttls: choice({
        flag: '--starttls <protocol>',
        fallback: 'auto',
        words: ['auto', 'off', 'smtp', 'imap', 'ftp'],
        description: 'Protocol before the handshake; auto selects by port',
      }),
      alpn: list({
        flag: '--alpn <list>',
        fallback: [],
        separator: SEPARATOR,
        description: 'Protocols to offer, such as h2,http/1.1',
      }),
      roots: repeated('--roots <file>', 'Additional trusted roots, PEM; may be repeated'),
    },
    Pace: {
      timeoutMs: timeout('Timeout of a connection', '5s'),
      concurrency: concurrency('Concurrent endpoints', DEFAULTS.tlsConcurrency, 10_000),
    },
    Output: {},
  },
};

export type Probe = keyof typeof PROBE_OPTIONS;

type Own<P extends Probe> = (typeof PROBE_OPTIONS)[P];
type Values<Groups extends Record<'Targets' | 'Pace' | 'Output', object>> = ValuesOf<Groups['Targets']> &
  ValuesOf<Groups['Pace']> &
  ValuesOf<Groups['Output']>;
type SharedValues = Values<typeof RECON_OPTIONS>;

/** Options that every probe has on the command line, each value already validated. */
export interface ReconTargetOptions extends SharedValues {
  /** Targets as arguments: names, addresses, networks, ranges, host:port, URLs. */
  readonly targets: readonly string[];
  /** Per second; Infinity for no limit. */
  readonly rate: number;
  readonly hostRate: number;
  readonly jsonStyle: NonNullable<SharedValues['jsonStyle']>;
}

type Request<P extends Probe> = ReconTargetOptions & Values<Own<P>> & { readonly probe: P };
export type TcpRequest = Request<'tcp'>;
export type DnsRequest = Request<'dns'>;
export type TlsRequest = Request<'tls'>;
export type ReconRequest = TcpRequest | DnsRequest | TlsRequest;

/** The groups of options of a probe: those that all have, then its own. */
export function optionGroupsOf(probe: Probe) {
  const own = PROBE_OPTIONS[probe];
  return {
    Targets: { ...RECON_OPTIONS.Targets, ...own.Targets },
    Pace: { ...RECON_OPTIONS.Pace, ...own.Pace },
    Output: { ...RECON_OPTIONS.Output, ...own.Output },
  };
}

/** Returns the request of a command line. */
export function reconRequestOf(probe: Probe, targets: readonly string[], options: object): ReconRequest {
  const { Targets, Pace, Output } = optionGroupsOf(probe);
  const { rate, hostRate, unlimited, ...pace } = valuesOf(Pace, options);
  const { json, jsonStyle, ...output } = valuesOf(Output, options);
  const limit = (given: number | null, usual: number): number => (given ?? (unlimited ? 0 : usual)) || Infinity;
  return {
    probe,
    targets,
    ...valuesOf(Targets, options),
    ...pace,
    unlimited,
    rate: limit(rate, DEFAULTS.rate),
    hostRate: limit(hostRate, DEFAULTS.hostRate),
    ...output,
    json: json || jsonStyle !== null,
    jsonStyle: jsonStyle ?? 'heddle',
  } as ReconRequest;
}
