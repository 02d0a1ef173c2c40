import type { ContainerId, TaskId, WorkflowId } from '../../domain/ids.ts';
import type { JsonObject, JsonValue } from '../../domain/json.ts';
import type { TaskState } from '../../domain/task-state.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Node, Parent } from './nodes.ts';

/** The task that a handler runs for. */
export interface KindTask {
  readonly id: TaskId;
  readonly kind: string;
  readonly name: string;
  readonly workflow_id: WorkflowId;
  /** The container it stands in; null for a task of a batch. */
  readonly container_id: ContainerId | null;
  /** The submitter's own name for it; null where it has none. */
  readonly local_id: string | null;
  /** 1 for the first. */
  readonly attempt: number;
  readonly timeout_secs: number;
  /** With the values of its expressions, before the schema made of it what `run` gets. */
  readonly input: JsonObject;
  /** The runners that it has to itself, by number, the one it runs on among them; none where it stated no requirements. */
  readonly runners: readonly KindRunner[];
}

/** A runner of the pool that a task has. */
export interface KindRunner {
  readonly id: string;
  readonly number: number;
  readonly instance_type: string;
  /** Where it is reached; null where it did not say. */
  readonly address: string | null;
}

/** What a task that came before left behind. */
export interface EarlierResult<Data = JsonValue> {
  readonly task_id: TaskId;
  readonly local_id: string | null;
  readonly kind: string;
  readonly state: TaskState;
  readonly data: Data;
}

/** What a handler has beside its input. */
export interface KindContext {
  readonly task: KindTask;
  /** 1 for the first. */
  readonly attempt: number;
  /** Aborts when the task was canceled or timed out, and when the worker stops. */
  readonly signal: AbortSignal;
  /**
   * Of a task with several runners: aborts when one of the others is lost, with a `RunnersLost` as its reason. The task goes
   * on, with those that it has left, unless its handler ends it.
   */
  readonly runnerLost: AbortSignal;
  readonly log: Logger;
  /** W3C trace context of this run, to hand on with calls to others; null where there is no trace. */
  readonly traceparent: string | null;
  /** Adds to the task's counters and says that it is alive. Need not be awaited. */
  readonly progress: (successes: number, failures?: number) => Promise<void>;
  /**
   * The results of what came before this task in its sequence, and below it: by container and position, read page by
   * page, never all at once.
   */
  readonly results: <Data = JsonValue>() => AsyncIterable<EarlierResult<Data>>;
  /** Adds a node to the workflow; resolves when there is room for the next one, so await it. */
  readonly emit: (node: Node, place?: { parent?: Parent; key?: string }) => Promise<void>;
}
