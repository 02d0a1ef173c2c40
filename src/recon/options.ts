import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { DnsType } from './records.ts';
import type { EndpointSource, Pace, Scope } from './targets/port.ts';

/** What every probe has beside its targets. */
export interface ProbeEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the probe: it sends nothing more, closes what is open, and its records end with the signal's reason. */
  readonly signal: AbortSignal;
  readonly pace: Pace;
  /** Called now and then, never for each packet. */
  readonly onProgress?: (progress: ProbeProgress) => void;
  /** What is not in the records and should be known: a method that was not to be had, a target that was refused. */
  readonly onNotice?: (notice: string) => void;
}

export interface ProbeProgress {
  /** Targets (ports, names, endpoints) that are settled. */
  done: number;
  /** Of so many. */
  total: number;
  /** Packets, queries or connections so far. */
  sent: number;
  /** Worth reporting so far. */
  found: number;
}

export const RECON_DEFAULTS = {
  /** Packets, queries or connections a second, in all. */
  rate: 1000,
  /** The same to one host. */
  host_rate: 1000,
  retries: 3,
  syn_timeout_ms: 1000,
  connect_timeout_ms: 3000,
  dns_timeout_ms: 2000,
  tls_timeout_ms: 5000,
  connect_concurrency: 256,
  tls_concurrency: 64,
  dns_in_flight: 4096,
  ports: 'top-100',
} as const;

export interface TcpOptions {
  readonly endpoints: EndpointSource;
  /** `auto`: SYN where the process may, else connect. `syn` where it may not is an error that says what is missing. */
  readonly method: 'auto' | 'syn' | 'connect';
  /** Which states are reported. */
  readonly states: readonly ('open' | 'closed' | 'filtered')[];
  /** Rounds over what did not answer, beside the first. */
  readonly retries: number;
  readonly timeout_ms: number;
  /** Connections at once, of a connect scan. */
  readonly concurrency: number;
  /** Reads what open ports say by themselves. */
  readonly banner: boolean;
}

export interface DnsOptions {
  /** Names to ask for, or addresses for PTR, each once; may be endless lists: read as room comes. */
  readonly names: AsyncIterable<string> | Iterable<string>;
  /** How many there are, for progress; null where nobody knows. */
  readonly total: number | null;
  readonly types: readonly DnsType[];
  /** `ip` or `ip:port`; empty: the system's. */
  readonly resolvers: readonly string[];
  readonly retries: number;
  readonly timeout_ms: number;
  readonly in_flight: number;
  /** Looks for zones that answer for every name, and marks what they answer. */
  readonly wildcards: boolean;
  readonly scope: Scope;
}

export interface TlsOptions {
  /** `host` is sent as SNI where it is a name. */
  readonly endpoints: EndpointSource;
  readonly timeout_ms: number;
  readonly concurrency: number;
  /** `auto`: by the port (25, 587: smtp; 143: imap; 21: ftp). */
  readonly starttls: 'auto' | 'off' | 'smtp' | 'imap' | 'ftp';
  readonly alpn: readonly string[];
  /** The certificate and its chain: needs a whole handshake. Without it one message each way is enough. */
  readonly certificates: boolean;
  readonly enumerate_versions: boolean;
  readonly enumerate_ciphers: boolean;
  /** Texts of roots in PEM, each of one or more, that are trusted beside those of Node.js and of the system. */
  readonly roots?: readonly string[];
}
