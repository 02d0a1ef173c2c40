import type { DnsType, ReconRecord } from '../../recon/records.ts';
import type { TlsOptions } from '../../recon/options.ts';

export { RECON_DEFAULTS, type ProbeProgress } from '../../recon/options.ts';
export { DNS_TYPES } from '../../recon/dns/codes.ts';
export type { DnsRecord, DnsType, PortRecord, ReconRecord, TlsRecord } from '../../recon/records.ts';

/** Whose names and types the members of records have. */
export const JSON_STYLES = ['heddle', 'projectdiscovery'] as const;
export type JsonStyle = (typeof JSON_STYLES)[number];

/** What every probe is asked for on the command line, each value already within its bounds. */
export interface ReconAims {
  /** As arguments: names, addresses, networks, ranges, host:port, URLs. */
  readonly targets: readonly string[];
  /** Files of targets; `-` is standard input. */
  readonly lists: readonly string[];
  /** Files or entries. */
  readonly exclude: readonly string[];
  /** Files or entries; empty: those of the environment. */
  readonly scope: readonly string[];
  /** A second; Infinity where nothing limits. */
  readonly rate: number;
  readonly hostRate: number;
  /** Null: a new one each time. */
  readonly seed: number | null;
  /** For names of targets; empty: the system's. */
  readonly resolvers: readonly string[];
  /** Null: as the probe has it by default. */
  readonly timeoutMs: number | null;
  readonly dryRun: boolean;
  readonly json: boolean;
  readonly jsonStyle: JsonStyle;
  readonly quiet: boolean;
}

export interface TcpRequest extends ReconAims {
  readonly probe: 'tcp';
  readonly ports: string;
  /** Names at each of their addresses, not at the first alone. */
  readonly allAddresses: boolean;
  readonly method: 'auto' | 'syn' | 'connect';
  readonly banner: boolean;
  readonly allStates: boolean;
  readonly retries: number;
  readonly concurrency: number;
}

export interface DnsRequest extends ReconAims {
  readonly probe: 'dns';
  readonly types: readonly DnsType[];
  /** Words that are asked for below each name; `-` is standard input. */
  readonly wordlist: string | undefined;
  readonly wildcards: boolean;
  /** Also what has no answer, and what only a wildcard answers, of a list of words. */
  readonly allStates: boolean;
  readonly retries: number;
}

export interface TlsRequest extends ReconAims {
  readonly probe: 'tls';
  readonly ports: string;
  /** As of ports. */
  readonly allAddresses: boolean;
  readonly versions: boolean;
  readonly ciphers: boolean;
  readonly certificates: boolean;
  readonly starttls: TlsOptions['starttls'];
  readonly alpn: readonly string[];
  /** Files of roots in PEM. */
  readonly roots: readonly string[];
  readonly concurrency: number;
}

export type ReconRequest = TcpRequest | DnsRequest | TlsRequest;

/** What would be sent, without sending it. */
export interface ReconPlan {
  readonly type: 'plan';
  readonly probe: ReconRequest['probe'];
  readonly targets: number;
  /** Targets that the scope does not allow. */
  readonly refused: number;
  readonly ports: number | null;
  /** Ports, names with types, or TLS endpoints; null where a list on standard input was not counted. */
  readonly endpoints: number | null;
  readonly packets_max: number | null;
  /** At the rate, with every retry; null where nothing limits it. */
  readonly duration_secs_max: number | null;
  readonly rate: number | null;
  readonly host_rate: number | null;
  readonly seed: number;
}

/** What a run has of the terminal that it was started on. */
export interface ReconTerminal {
  /** A record as it is printed: a line of JSON, or a row with what goes before it. */
  readonly render: (record: ReconRecord) => string;
  readonly plan: (plan: ReconPlan) => string;
  /** Writes to standard output; resolves when it takes more. */
  readonly print: (text: string) => Promise<void> | undefined;
  /** A line on standard error. */
  readonly notice: (text: string) => void;
  readonly progress: (progress: { done: number; total: number; sent: number; found: number }) => void;
  readonly stopProgress: () => void;
  /** Calls back when standard output takes nothing any more. */
  readonly onClosed: (run: (error: NodeJS.ErrnoException) => void) => void;
}

/** Exit codes of `heddle recon`. */
export const RECON_EXIT = {
  done: 0,
  /** What was asked for cannot be done, or all that was named was refused. */
  error: 2,
  /** Some targets were refused, or not probed. */
  incomplete: 3,
  interrupted: 130,
} as const;

export type ReconExit = (typeof RECON_EXIT)[keyof typeof RECON_EXIT];
