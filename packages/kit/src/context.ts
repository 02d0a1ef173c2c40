import type { ContainerId, TaskId, WorkflowId } from '@heddle/base/ids';
import type { JsonObject, JsonValue } from '@heddle/base/json';
import type { TaskState } from '@heddle/base/vocabulary/task-state';
import type { KindLogger } from './kind-logger.ts';
import type { Node, Parent } from './nodes.ts';

/** The task that a handler executes. */
export interface KindTask {
  readonly id: TaskId;
  readonly kind: string;
  readonly name: string;
  readonly workflow_id: WorkflowId;
  /** The container that contains it; null for a task of a batch. */
  readonly container_id: ContainerId | null;
  /** The submitter's own name for it; null without one. */
  readonly local_id: string | null;
  /** 1 for the first. */
  readonly attempt: number;
  readonly timeout_secs: number;
  /** The input with evaluated expressions, before the schema converts it to the argument of `run`. */
  readonly input: JsonObject;
  /** The runners reserved for it, by number, including the one it runs on; empty without requirements. */
  readonly runners: readonly KindRunner[];
}

/** A runner of the pool that a task holds. */
export interface KindRunner {
  readonly id: string;
  readonly number: number;
  readonly instance_type: string;
  /** Address of the runner; null if it reported none. */
  readonly address: string | null;
}

/** The result of an earlier task. */
export interface EarlierResult<Data = JsonValue> {
  readonly task_id: TaskId;
  readonly local_id: string | null;
  readonly kind: string;
  readonly state: TaskState;
  readonly data: Data;
}

/** A stored file of a task. */
export interface KindArtifact {
  readonly id: string;
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  readonly sha256: string;
}

export interface KindArtifacts {
  /**
   * Stores a file of this task, streaming; replaces the one of the same name.
   * @param name a relative path, such as `reports/result.xml`
   */
  readonly put: (
    name: string,
    content: string | Uint8Array | AsyncIterable<Uint8Array | string>,
  ) => Promise<KindArtifact>;
  /**
   * Opens a file.
   * @param reference the id of an artifact; or `NODE/NAME`: of the task with this `local_id` in the workflow, or of any
   * task by its id
   */
  readonly get: (reference: string) => Promise<AsyncIterable<Uint8Array>>;
}

/** What a handler receives besides its input. */
export interface KindContext {
  readonly task: KindTask;
  /** 1 for the first. */
  readonly attempt: number;
  /** Aborts when the task is canceled or timed out, and when the worker stops. */
  readonly signal: AbortSignal;
  /**
   * For a task with several runners: aborts when one of the others is lost, with a `RunnersLost` as its reason. The
   * task continues with the remaining ones unless its handler ends it.
   */
  readonly runnerLost: AbortSignal;
  /** Its lines go to the task's log, which the API, the command line and the console show, and to that of the worker. */
  readonly log: KindLogger;
  /** Adds lines to the task's log, as the output of a program that the handler runs. */
  readonly output: (stream: 'stdout' | 'stderr', text: string) => void;
  /** Files of this task and of earlier ones. */
  readonly artifacts: KindArtifacts;
  /** Replaces the secrets that the input names; `log`, `output`, results and errors are redacted anyway. */
  readonly redact: (text: string) => string;
  /** W3C trace context of this run, to propagate with calls; null without a trace. */
  readonly traceparent: string | null;
  /** Adds to the task's counters and signals activity. Need not be awaited. */
  readonly progress: (successes: number, failures?: number) => Promise<void>;
  /**
   * Yields the results of the tasks before this one in its sequence, and below them, by container and position; reads
   * them page by page.
   */
  readonly results: <Data = JsonValue>() => AsyncIterable<EarlierResult<Data>>;
  /** Adds a node to the workflow; await it, since it resolves when the next one can be accepted. */
  readonly emit: (node: Node, place?: { parent?: Parent; key?: string }) => Promise<void>;
}
