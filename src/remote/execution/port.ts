import type { OutcomeCode } from '../protocol/codes.ts';
import type { TaskProgress, Tier } from '../protocol/messages.ts';

/** Code of events on disk: read-only, named by the digest of its files. */
export interface EventCode {
  /** SHA-256 over names and contents, hexadecimal. */
  readonly digest: string;
  /** Absolute path of the directory that holds it. */
  readonly directory: string;
  /** The module that exports events, from there: `index.js`. */
  readonly entry: string;
}

/** What a definition says of itself; everything in it was said by code that nobody trusts. */
export interface DescribedEvent {
  readonly name: string;
  readonly timeout_secs: number | null;
  readonly memory_mb: number | null;
  readonly tier: Tier | null;
  /** Whether a run that was cut short may be repeated. */
  readonly idempotent: boolean;
}

export interface Job {
  readonly correlation_id: string;
  readonly event_name: string;
  /** Whose task it is; null for the executor's own. */
  readonly client: string | null;
  readonly code: EventCode;
  /** The bytes of a JSON object. */
  readonly args: Uint8Array;
  readonly timeout_ms: number;
  readonly memory_mb: number;
  /** Largest result, bytes of JSON. */
  readonly result_bytes_max: number;
  readonly traceparent: string | null;
}

/** How a job ended. A tier never rejects: what goes wrong with it is an outcome as well. */
export type JobOutcome =
  | { readonly status: 'success'; /** The bytes of a JSON value, checked. */ readonly result: Uint8Array }
  | {
      readonly status: 'error';
      readonly code: OutcomeCode;
      readonly message: string;
      readonly details?: readonly string[];
    };

export interface JobHooks {
  /** Ends the job at once; its outcome is then CANCELED. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: TaskProgress) => void;
  /** Called once, when a process has the job. */
  readonly onStart: () => void;
}

/** A way to run jobs: each within limits of time, memory and output, none of them trusted. */
export interface ExecutionTier {
  readonly tier: Tier;
  /** Runs one job; the caller bounds how many run at once. */
  run(job: Job, hooks: JobHooks): Promise<JobOutcome>;
  /** Loads the code within the tier and asks it what it defines. @throws RemoteFailure EVENT_UNAVAILABLE */
  describe(code: EventCode): Promise<readonly DescribedEvent[]>;
  /** The code is likely to be asked for: processes may be started ahead. */
  warm(code: EventCode, memoryMb: number): void;
  /** Ends every process, and waits until none is left. */
  close(): Promise<void>;
}
