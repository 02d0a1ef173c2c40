import type { CaseRun, ClaimRequest, ClaimRun, PoolCase } from './runner-pool/requests.ts';

/** The methods of a subject. A bench runs on every subject that has the methods it needs. */

export interface Environment {
  /** The subject's database on the shared server; null for subjects without PostgreSQL. */
  database_url: string | null;
  redis_port: number | null;
  quick: boolean;
}

/** A rule on every task. Its limit is far above the concurrency, so that it is checked but never blocks. */
export type RuleOption = 'none' | 'concurrency' | 'capacity';

/** One workflow: for each task the indices of its parents, all of them before it. */
export type Graph = readonly (readonly number[])[];

/** Workflows as trees: filled by a generator, many in parallel, or nested containers. */
export type TreeShape =
  | { type: 'fan-out'; children: number }
  | { type: 'side-by-side'; workflows: number; tasks: number }
  | { type: 'nested'; depth: number };

/** Messages through a queue, sent and received in batches. */
export interface TransportShape {
  messages: number;
  batch: number;
  /** For a manager: they arrive while it runs, in such batches, from concurrent senders. */
  arriving?: boolean;
  /** For a manager: messages are only received and deleted, which shows what the queue leaves for the work. */
  queueAlone?: boolean;
}

/** One scan of a tree of files. */
export interface ScanRequest {
  directory: string;
  /** Whether `directory` is a repository whose history is scanned. */
  history: boolean;
  /** `built-in`: the subject's own rules; else a rule file in TOML. */
  rules: string;
  /** Equivalent patterns, for subjects without rules. */
  patterns: readonly string[];
  threads: number;
  /** Files only: nothing is unpacked or decoded, for subjects that cannot. */
  plain: boolean;
  /** Planted secrets, to count those found. */
  planted: readonly string[];
}

export interface ScanRun {
  wall_ms: number;
  /** Of the command's processes, user and system. */
  cpu_ms: number;
  peak_mib: number;
  /** Lines of its output. */
  lines: number;
  /** Number of planted secrets in its output, for subjects that show them. */
  found?: number;
}

/** Handshakes with a server on loopback for the given duration. */
export interface HandshakeRequest {
  port: number;
  duration_ms: number;
  /** Whether to read the certificate, or only version and cipher; peers always read all. */
  certificates: boolean;
}

export interface HandshakeRun {
  count: number;
  wall_ms: number;
  /** Of the client, user and system. */
  cpu_ms: number;
}

/** One scan of all ports of 127.0.0.1. */
export interface PortScanRequest {
  method: 'syn' | 'connect';
}

export interface PortScanRun {
  wall_ms: number;
  /** Of the scanner, user and system. */
  cpu_ms: number;
  open: number[];
}

/** Addresses of the given number of names, each queried once, from a server on loopback. */
export interface LookupRequest {
  port: number;
  /** A file with one `name type` a line, for subjects that read one. */
  queries: string;
  count: number;
}

export interface LookupRun {
  answered: number;
  wall_ms: number;
  /** Of the client, user and system. */
  cpu_ms: number;
}

/** Tasks or signed calls, sent by one client over one connection or a few. */
export interface RemoteLoad {
  tier: 'pooled' | 'process' | 'jail';
  protocol: 'tcp' | 'grpc' | 'xmlrpc';
  /** A task that does nothing, from its submission to its result; or an event lookup, the smallest signed call. */
  call: 'task' | 'event';
  /** The number of lanes, each with the next call after its response; or a rate per second, at random times. */
  pace: { in_flight: number } | { per_s: number };
  duration_ms: number;
}

export interface RemoteRun {
  count: number;
  wall_ms: number;
  /** From the call to its response. */
  p50_ms: number;
  p99_ms: number;
}

/** Tasks that loop forever and have a deadline. */
export interface RemoteDeadlineRequest {
  tier: 'process' | 'jail';
  samples: number;
}

/** For each task, milliseconds from its deadline. */
export interface RemoteDeadlineRun {
  /** Until its process ended. */
  killed_ms: number[];
  /** Until it and all its descendants ended. */
  none_left_ms: number[];
}

/** A task that allocates forever: its kind and its isolation. */
export interface RemoteMemoryRequest {
  tier: 'process' | 'jail';
  allocates: 'buffers' | 'objects';
}

export interface RemoteMemoryRun {
  cap_mib: number;
  /** Peak resident memory of its largest process. */
  peak_mib: number;
  /** Resident memory of a task process without a task. */
  idle_mib: number;
}

/** URL of an HTTP subject for the load generator, and the tasks it may report on. */
export interface HttpTarget {
  port: number;
  task_ids: string[];
}

export interface Subject {
  /** Installs the schema in an empty database and opens connections. No worker runs afterward. */
  prepare(environment: Environment): Promise<void>;
  close(): Promise<void>;

  /** Stores `count` independent no-op tasks durably; returns milliseconds. */
  submit?(count: number, rule: RuleOption): Promise<number>;
  /** Stores workflows durably, with their dependencies; returns milliseconds. */
  submitGraphs?(graphs: readonly Graph[]): Promise<number>;
  /** Runs `count` stored tasks until the last one is durably finished; returns milliseconds. */
  process?(count: number, lines?: number): Promise<number>;
  /** One task at a time on an idle system: milliseconds from its submission to its handler's start. */
  latency?(samples: number): Promise<number[]>;
  /** Like `latency`, from the time when the manager has the message that creates the task. */
  receiveToStart?(samples: number): Promise<number[]>;
  /** A chain of `samples + 1` tasks: milliseconds from each handler's end to the start of its child's handler. */
  parentToChild?(samples: number): Promise<number[]>;

  /** Stores trees and runs them until their last task ran; returns milliseconds. */
  runTrees?(shape: TreeShape): Promise<number>;

  /** Sends messages, receives and settles them concurrently; returns milliseconds. */
  transport?(shape: TransportShape): Promise<number>;
  /** One message at a time: milliseconds from sending to the waiting receiver. */
  transportLatency?(samples: number): Promise<number[]>;

  /** Starts the HTTP server with `running` tasks that accept counters. */
  listen?(running: number): Promise<HttpTarget>;

  /** Scans a tree with a separate command. */
  scan?(request: ScanRequest): Promise<ScanRun>;

  /** Inspects a TLS server repeatedly. */
  handshakes?(request: HandshakeRequest): Promise<HandshakeRun>;

  /** Scans all ports of 127.0.0.1 as fast as it can. */
  scanPorts?(request: PortScanRequest): Promise<PortScanRun>;

  /** Looks names up as fast as it can. */
  lookups?(request: LookupRequest): Promise<LookupRun>;

  /** Sends tasks or calls to its executor, which runs in another process. */
  remoteLoad?(request: RemoteLoad): Promise<RemoteRun>;
  /** Lets tasks exceed their deadline, one after the other. */
  remoteDeadlines?(request: RemoteDeadlineRequest): Promise<RemoteDeadlineRun>;
  /** Lets a task exceed its memory limit. */
  remoteMemory?(request: RemoteMemoryRequest): Promise<RemoteMemoryRun>;

  /** Requests idle runners from a pool, with many concurrent claimers. */
  runnerClaims?(request: ClaimRequest): Promise<ClaimRun>;
  /** Milliseconds from the release of a runner to its waiting next holder. */
  runnerHandOver?(samples: number): Promise<number[]>;
  /** Serves requests from a pool with runners of several types. */
  runnerCase?(request: PoolCase): Promise<CaseRun>;

  /** Brings the store to `total` finished tasks, archived or not, and starts retention in the background. */
  fillStore?(total: number, place: 'live' | 'archive'): Promise<void>;
}

/** Names of the methods that a bench calls. */
export type SubjectMethod = Exclude<keyof Subject, 'prepare' | 'close'>;
