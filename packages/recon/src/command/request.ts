import type { ProbeProgress, TlsOptions } from '../options.ts';
import type { DnsType, ReconRecord } from '../records.ts';

/** The tool whose names and types the members of records follow. */
export const JSON_STYLES = ['heddle', 'projectdiscovery'] as const;
export type JsonStyle = (typeof JSON_STYLES)[number];

/** Options that every probe has on the command line, each value already validated. */
export interface ReconTargetOptions {
  /** Targets as arguments: names, addresses, networks, ranges, host:port, URLs. */
  readonly targets: readonly string[];
  /** Files of targets; `-` is standard input. */
  readonly lists: readonly string[];
  /** Files or entries. */
  readonly exclude: readonly string[];
  /** Files or entries; if empty, those of the environment. */
  readonly scope: readonly string[];
  /** Per second; Infinity for no limit. */
  readonly rate: number;
  readonly hostRate: number;
  /** Null for a new seed each time. */
  readonly seed: number | null;
  /** Resolvers for names of targets; empty for those of the system. */
  readonly resolvers: readonly string[];
  /** Null for the probe's default. */
  readonly timeoutMs: number | null;
  readonly dryRun: boolean;
  readonly json: boolean;
  readonly jsonStyle: JsonStyle;
  readonly quiet: boolean;
}

export interface TcpRequest extends ReconTargetOptions {
  readonly probe: 'tcp';
  readonly ports: string;
  /** Probes names at each of their addresses instead of only the first. */
  readonly allAddresses: boolean;
  readonly method: 'auto' | 'syn' | 'connect';
  readonly banner: boolean;
  readonly allStates: boolean;
  readonly retries: number;
  readonly concurrency: number;
}

export interface DnsRequest extends ReconTargetOptions {
  readonly probe: 'dns';
  readonly types: readonly DnsType[];
  /** Words to query below each name; `-` is standard input. */
  readonly wordlist: string | undefined;
  readonly wildcards: boolean;
  /** Also prints names without an answer, and those of a word list that only a wildcard answers. */
  readonly allStates: boolean;
  readonly retries: number;
}

export interface TlsRequest extends ReconTargetOptions {
  readonly probe: 'tls';
  readonly ports: string;
  /** In the syntax of ports. */
  readonly allAddresses: boolean;
  readonly versions: boolean;
  readonly ciphers: boolean;
  readonly certificates: boolean;
  readonly starttls: TlsOptions['starttls'];
  readonly alpn: readonly string[];
  /** PEM files of root certificates. */
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
  /** Ports, names with types, or TLS endpoints; null if a list on standard input was not counted. */
  readonly endpoints: number | null;
  readonly packets_max: number | null;
  /** At the given rate, with every retry; null if nothing limits it. */
  readonly duration_secs_max: number | null;
  readonly rate: number | null;
  readonly host_rate: number | null;
  readonly seed: number;
}

/** The terminal that a run was started on. */
export interface ReconTerminal {
  /** Prints a record: a line of JSON, or a row with its header. */
  readonly render: (record: ReconRecord) => string;
  readonly plan: (plan: ReconPlan) => string;
  /** Writes to standard output; resolves when it accepts more. */
  readonly print: (text: string) => Promise<void> | undefined;
  /** Prints a line on standard error. */
  readonly notice: (text: string) => void;
  readonly progress: (progress: ProbeProgress) => void;
  readonly stopProgress: () => void;
  /** Calls back when standard output can no longer be written. */
  readonly onClosed: (run: (error: NodeJS.ErrnoException) => void) => void;
}

/** Exit codes of `heddle recon`. */
export const RECON_EXIT = {
  done: 0,
  /** The request cannot be carried out, or every target was refused. */
  error: 2,
  /** Some targets were refused or not probed. */
  incomplete: 3,
  interrupted: 130,
} as const;

export type ReconExit = (typeof RECON_EXIT)[keyof typeof RECON_EXIT];
