import type { TaskId } from '../domain/ids.ts';
import type { JsonObject } from '../domain/json.ts';
import type { Task } from '../domain/task.ts';
import type { ContainerState, TaskState } from '../domain/task-state.ts';
import type { Container } from '../domain/workflow.ts';

/** Why a task is not running, most important first. */
export type Obstacle =
  | { type: 'turn'; container: { id: string; local_id: string | null; state: ContainerState }; before: string[] }
  | { type: 'expanding'; expected: number; created: number }
  | {
      type: 'parents';
      parents: { id: TaskId; name: string; state: TaskState; requires_success: boolean }[];
      total: number;
    }
  | {
      type: 'rule';
      rule: 'concurrency' | 'capacity';
      kind: string;
      fields: JsonObject;
      max: number;
      used: number;
      holders: { id: TaskId; name: string; state: TaskState }[];
    }
  | { type: 'paused'; since: number }
  | { type: 'delayed'; until: number; attempt: number }
  | { type: 'no_worker'; lane: string; last_seen: number | null }
  | { type: 'queued'; ahead: number }
  | { type: 'delivering'; tries: number; last_error: string | null; next_try_at: number | null };

export interface Explanation {
  task: Task;
  /** One sentence that answers the question. */
  summary: string;
  obstacles: Obstacle[];
}

/** A child that has not ended. */
export type OpenChild =
  | { type: 'task'; id: string; name: string; state: TaskState }
  | { type: 'container'; id: string; name: string; state: ContainerState };

/** Why a container has not started or not ended, most important first. */
export type ContainerObstacle =
  | { type: 'workflow_paused' }
  | Extract<Obstacle, { type: 'turn' }>
  | {
      /** The child that a sequence has come to; in a parallel container the first of those that have not ended. */
      type: 'children';
      children: OpenChild[];
      /** Children that have not ended, those that wait for their turn included. */
      open: number;
    }
  /** Generators elsewhere in the workflow that may still add children. */
  | { type: 'fillers'; generators: { id: TaskId; name: string; state: TaskState }[]; total: number };

export interface ContainerExplanation {
  container: Container;
  /** One sentence that answers the question. */
  summary: string;
  obstacles: ContainerObstacle[];
}
