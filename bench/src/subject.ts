import type { CaseRun, ClaimRequest, ClaimRun, PoolCase } from './runner-pool/requests.ts';

/** What a subject of the benchmarks can do. A bench runs on every subject that has the methods it asks for. */

export interface Environment {
  /** A database of the subject's own on the shared server; null for subjects without PostgreSQL. */
  database_url: string | null;
  redis_port: number | null;
  quick: boolean;
}

/** A rule on every task. Its limit is far above what runs at once, so that it is checked but never blocks. */
export type RuleOption = 'none' | 'concurrency' | 'capacity';

/** One workflow: for each task the positions of the tasks that it waits for, all of them before it. */
export type Graph = readonly (readonly number[])[];

/** Workflows as trees: one that a generator fills, many side by side, one of containers in containers. */
export type TreeShape =
  | { type: 'fan-out'; children: number }
  | { type: 'side-by-side'; workflows: number; tasks: number }
  | { type: 'nested'; depth: number };

/** Messages through a queue, sent and received in batches. */
export interface TransportShape {
  messages: number;
  batch: number;
  /** Of a manager: they come while it runs, in such batches, from senders at work at the same time. */
  arriving?: boolean;
}

/** One scan of a tree of files. */
export interface ScanRequest {
  directory: string;
  /** `built-in`: what the subject brings along; else a file of rules in TOML. */
  rules: string;
  /** What the rules of the file look for, for subjects that know no rules. */
  patterns: readonly string[];
  threads: number;
  /** Files as they are: nothing is unpacked or decoded, as of subjects that cannot. */
  plain: boolean;
  /** Secrets that were planted, to count those found. */
  planted: readonly string[];
}

export interface ScanRun {
  wall_ms: number;
  /** Of the command's processes, user and system. */
  cpu_ms: number;
  peak_mib: number;
  /** Lines of its output. */
  lines: number;
  /** How many of the planted secrets stand in its output; of subjects that show them. */
  found?: number;
}

/** Handshakes with a server on loopback, for as long as it says. */
export interface HandshakeRequest {
  port: number;
  duration_ms: number;
  /** Whether the certificate is wanted, or only version and cipher; peers always do all. */
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

/** Addresses of so many names, each asked for once, from a server on loopback. */
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
  /** A task that does nothing, from its submission to its result; or whether an event exists, the smallest signed call. */
  call: 'task' | 'event';
  /** So many at once, each lane with the next one after its answer; or so many a second, at random moments. */
  pace: { in_flight: number } | { per_s: number };
  duration_ms: number;
}

export interface RemoteRun {
  count: number;
  wall_ms: number;
  /** From the call to its answer. */
  p50_ms: number;
  p99_ms: number;
}

/** Tasks that loop for ever and have a deadline. */
export interface RemoteDeadlineRequest {
  tier: 'process' | 'jail';
  samples: number;
}

/** For each task, milliseconds from its deadline. */
export interface RemoteDeadlineRun {
  /** Until its process ran no more. */
  killed_ms: number[];
  /** Until neither it nor anything that it had started was left. */
  none_left_ms: number[];
}

/** A task that allocates for ever: of what kind, and how it is kept apart. */
export interface RemoteMemoryRequest {
  tier: 'process' | 'jail';
  allocates: 'buffers' | 'objects';
}

export interface RemoteMemoryRun {
  cap_mib: number;
  /** The most that was resident of its largest process. */
  peak_mib: number;
  /** Of a process of a task that has no task yet. */
  idle_mib: number;
}

/** Where a load generator finds an HTTP subject, and the tasks it may report on. */
export interface HttpTarget {
  port: number;
  task_ids: string[];
}

export interface Subject {
  /** Installs the schema into an empty database and opens connections. No worker runs afterwards. */
  prepare(environment: Environment): Promise<void>;
  close(): Promise<void>;

  /** Stores `count` independent no-op tasks durably; returns milliseconds. */
  submit?(count: number, rule: RuleOption): Promise<number>;
  /** Stores workflows durably, with their dependencies; returns milliseconds. */
  submitGraphs?(graphs: readonly Graph[]): Promise<number>;
  /** Runs what is stored, `count` tasks, until the last one is durably finished; returns milliseconds. */
  process?(count: number): Promise<number>;
  /** One task at a time on an idle system: milliseconds from the call that submits it to its handler's start. */
  latency?(samples: number): Promise<number[]>;
  /** As `latency`, from the moment when the one who starts tasks has the message that makes the task. */
  receiveToStart?(samples: number): Promise<number[]>;
  /** A chain of `samples + 1` tasks: milliseconds from each handler's end to the start of its child's handler. */
  parentToChild?(samples: number): Promise<number[]>;

  /** Stores trees and runs them until their last task ran; returns milliseconds. */
  runTrees?(shape: TreeShape): Promise<number>;

  /** Sends messages, receives and settles them, all at the same time; returns milliseconds. */
  transport?(shape: TransportShape): Promise<number>;
  /** One message at a time: milliseconds from the call that sends it to its receiver, which waits. */
  transportLatency?(samples: number): Promise<number[]>;

  /** Starts the HTTP server with `running` tasks that accept counters. */
  listen?(running: number): Promise<HttpTarget>;

  /** Scans a tree with a command of its own. */
  scan?(request: ScanRequest): Promise<ScanRun>;

  /** Asks a TLS server for what it offers, again and again. */
  handshakes?(request: HandshakeRequest): Promise<HandshakeRun>;

  /** Scans all ports of 127.0.0.1 as fast as it can. */
  scanPorts?(request: PortScanRequest): Promise<PortScanRun>;

  /** Looks names up as fast as it can. */
  lookups?(request: LookupRequest): Promise<LookupRun>;

  /** Sends tasks or calls to an executor of its own, which runs in another process. */
  remoteLoad?(request: RemoteLoad): Promise<RemoteRun>;
  /** Lets tasks run into their deadline, one after the other. */
  remoteDeadlines?(request: RemoteDeadlineRequest): Promise<RemoteDeadlineRun>;
  /** Lets a task run into its limit of memory. */
  remoteMemory?(request: RemoteMemoryRequest): Promise<RemoteMemoryRun>;

  /** Asks a pool for runners that are idle, by many claimers at once. */
  runnerClaims?(request: ClaimRequest): Promise<ClaimRun>;
  /** Milliseconds from the release of a runner to its next holder, who waited. */
  runnerHandOver?(samples: number): Promise<number[]>;
  /** Serves requests from a pool whose runners are of several types. */
  runnerCase?(request: PoolCase): Promise<CaseRun>;

  /** Brings the store to `total` finished tasks and starts retention in the background. */
  fillStore?(total: number): Promise<void>;
}

/** Names of the methods that a bench calls. */
export type SubjectMethod = Exclude<keyof Subject, 'prepare' | 'close'>;
