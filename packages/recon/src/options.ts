import type { Clock } from '@heddle/base/clock';
import type { Random } from '@heddle/base/random';
import type { DnsType } from './records.ts';
import type { EndpointSource, Pace, Scope } from './targets/port.ts';

/** The environment of a probe, besides its targets. */
export interface ProbeEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts the probe: sending stops, connections close, and iteration rejects with the signal's reason. */
  readonly signal: AbortSignal;
  readonly pace: Pace;
  /** Called periodically, never for each packet. */
  readonly onProgress?: (progress: ProbeProgress) => void;
  /** Reports conditions that are not in the records, such as an unavailable method or a refused target. */
  readonly onNotice?: (notice: string) => void;
}

export interface ProbeProgress {
  /** Targets (ports, names, endpoints) that are settled. */
  done: number;
  /** Total number of targets. */
  total: number;
  /** Packets, queries or connections so far. */
  sent: number;
  /** Results to report so far. */
  found: number;
}

export const RECON_DEFAULTS = {
  /** Packets, queries or connections per second in total. */
  rate: 1000,
  /** The same for one host. */
  hostRate: 1000,
  retries: 3,
  synTimeoutMs: 1000,
  connectTimeoutMs: 3000,
  dnsTimeoutMs: 2000,
  tlsTimeoutMs: 5000,
  connectConcurrency: 256,
  tlsConcurrency: 64,
  dnsInFlight: 4096,
  ports: 'top-100',
} as const;

export interface TcpOptions {
  readonly endpoints: EndpointSource;
  /**
   * `auto`: SYN if the process is permitted, else connect. `syn` without permission is an error that names what is
   * missing.
   */
  readonly method: 'auto' | 'syn' | 'connect';
  /** States to report. */
  readonly states: readonly ('open' | 'closed' | 'filtered')[];
  /** Retries for ports that did not answer. */
  readonly retries: number;
  readonly timeoutMs: number;
  /** Concurrent connections of a connect scan. */
  readonly concurrency: number;
  /** Reads the banners of open ports. */
  readonly banner: boolean;
}

export interface DnsOptions {
  /** Names to query, or addresses for PTR, each once; may be endless lists, read on demand. */
  readonly names: AsyncIterable<string> | Iterable<string>;
  /** Number of names, for progress; null if unknown. */
  readonly total: number | null;
  readonly types: readonly DnsType[];
  /** `ip` or `ip:port`; empty: the system's resolvers. */
  readonly resolvers: readonly string[];
  readonly retries: number;
  readonly timeoutMs: number;
  readonly inFlight: number;
  /** Detects wildcard zones and marks their answers. */
  readonly wildcards: boolean;
  readonly scope: Scope;
}

export interface TlsOptions {
  /** `host` is sent as SNI if it is a name. */
  readonly endpoints: EndpointSource;
  readonly timeoutMs: number;
  readonly concurrency: number;
  /** `auto`: by the port (25, 587: smtp; 143: imap; 21: ftp). */
  readonly starttls: 'auto' | 'off' | 'smtp' | 'imap' | 'ftp';
  readonly alpn: readonly string[];
  /**
   * Reads the certificate and its chain, which needs a whole handshake. Without it one message in each direction
   * suffices.
   */
  readonly certificates: boolean;
  readonly versions: boolean;
  readonly ciphers: boolean;
  /** PEM bundles of roots that are trusted in addition to those of Node.js and the system. */
  readonly roots?: readonly string[];
}
