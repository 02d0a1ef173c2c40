import type { OutcomeCode } from '../protocol/codes.ts';
import type { TaskProgress, Tier } from '../protocol/messages.ts';

/** Event code on disk: read-only, named by the digest of its files. */
export interface EventCode {
  /** SHA-256 over paths and contents, hexadecimal. */
  readonly digest: string;
  /** Absolute path of its directory. */
  readonly directory: string;
  /** Module that exports events, relative to the directory: `index.js`. */
  readonly entry: string;
}

/** Definition of an event as reported by untrusted code. */
export interface DescribedEvent {
  readonly name: string;
  readonly timeout_secs: number | null;
  readonly memory_mb: number | null;
  readonly tier: Tier | null;
  /** Whether an interrupted run may be repeated. */
  readonly idempotent: boolean;
}

export interface Job {
  readonly correlation_id: string;
  readonly event_name: string;
  /** The submitting client; null for the executor's own jobs. */
  readonly client: string | null;
  readonly code: EventCode;
  /** Encoded JSON object. */
  readonly args: Uint8Array;
  readonly timeout_ms: number;
  readonly memory_mb: number;
  /** Maximum size of the result, bytes of JSON. */
  readonly result_bytes_max: number;
  readonly traceparent: string | null;
}

/** Outcome of a job. A tier never rejects: its own failures are outcomes as well. */
export type JobOutcome =
  | { readonly status: 'success'; /** Encoded JSON value, validated. */ readonly result: Uint8Array }
  | {
      readonly status: 'error';
      readonly code: OutcomeCode;
      readonly message: string;
      readonly details?: readonly string[];
    };

export interface JobHooks {
  /** Ends the job immediately; its outcome is then CANCELED. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: TaskProgress) => void;
  /** Called once, when a process has received the job. */
  readonly onStart: () => void;
}

/** Runs untrusted jobs within limits of time, memory and output. */
export interface ExecutionTier {
  readonly tier: Tier;
  /** Runs one job; the caller limits concurrency. */
  run(job: Job, hooks: JobHooks): Promise<JobOutcome>;
  /** Loads code in the tier and returns its event definitions. @throws RemoteFailure EVENT_UNAVAILABLE */
  describe(code: EventCode): Promise<readonly DescribedEvent[]>;
  /** Hints that the code is about to be used, so that processes can be started ahead. */
  warm(code: EventCode, memoryMb: number): void;
  /** Kills all processes and waits until none is left. */
  close(): Promise<void>;
}
