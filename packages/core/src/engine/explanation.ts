import type { TaskAttempt } from '@heddle/base/vocabulary/attempt';
import type { TaskId } from '@heddle/base/ids';
import type { JsonObject } from '@heddle/base/json';
import type { Demand } from '@heddle/base/vocabulary/requirements';
import type { Exhaustion } from '../domain/runner/state.ts';
import type { Task } from '@heddle/base/vocabulary/task';
import type { ContainerState, TaskState } from '@heddle/base/vocabulary/task-state';
import type { Container } from '@heddle/base/vocabulary/workflow';

/** Reasons why a task is not running, most important first. */
export type Obstacle =
  | { type: 'sequence'; container: { id: string; local_id: string | null; state: ContainerState }; before: string[] }
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
  /** `never`: no worker has ever asked for this kind, which may be misspelled. */
  | { type: 'no_worker'; lane: string; last_seen: number | null; never?: { did_you_mean: string | null } }
  | RunnerObstacle
  | { type: 'queued'; ahead: number }
  | { type: 'delivering'; tries: number; last_error: string | null; next_try_at: number | null };

/** The task waits for the runners that it requires. */
export interface RunnerObstacle {
  type: 'runner';
  /** Current request. */
  requirements: Demand;
  /** `not_requested`: not requested from the pool yet; `blocked`: blocked by a rule; `granted`: about to begin. */
  stage: 'not_requested' | 'blocked' | 'waiting' | 'granted';
  request_id: string | null;
  /** Time of the request. */
  since: number | null;
  /** Earlier requests for the same class. */
  ahead: number;
  /**
   * `global`: no idle runner; `local`: the idle runners do not match; `uncertain`: not all runners could be checked.
   */
  exhaustion: Exhaustion | null;
  /** Runners being launched for this and other requests. */
  launching: number;
  /** Error of the last launch. */
  last_failure: string | null;
  /** Runners granted. */
  runners: { id: string; number: number; running: boolean }[];
}

/** Nodes that a generator announced, and how many of them exist. */
export interface Expansion {
  /** Number of announced nodes; null until it has announced any. */
  expected: number | null;
  /** Number of nodes that its current attempt created. */
  created: number;
  /** Number of announced nodes that do not exist; null until it has announced any. */
  missing: number | null;
  /** Ids of the existing nodes, as the generator sent them, in ascending order: the first 1,000. */
  created_ids: string[];
  /** Missing nodes whose messages were dead-lettered: the first 20. */
  dead_letters: { id: string | null; reason: string }[];
}

/** What comes after a task: in a batch all that depends on it, in a workflow all that follows in the sequences around it. */
export interface Dependents {
  /** Counted up to 1,000. */
  total: number;
  total_capped: boolean;
  /** Those of the counted ones that have not ended, or failed because of what is before them. */
  held_up: number;
  /** The first 20: those next to it first. */
  tasks: { id: TaskId; name: string; state: TaskState }[];
}

export interface Explanation {
  task: Task;
  /** Summary in one sentence. */
  summary: string;
  obstacles: Obstacle[];
  dependents: Dependents;
  /** Null for a task that creates no nodes. */
  expansion: Expansion | null;
  /** Its attempts that ended, newest first: the last 5. */
  ended_attempts: TaskAttempt[];
}

/** Child that has not ended. */
export type OpenChild =
  | { type: 'task'; id: string; name: string; state: TaskState }
  | { type: 'container'; id: string; name: string; state: ContainerState };

/** Reasons why a container has not started or not ended, most important first. */
export type ContainerObstacle =
  | { type: 'workflow_paused' }
  | Extract<Obstacle, { type: 'sequence' }>
  | {
      /** Current child of a sequence; in a parallel container the first child that has not ended. */
      type: 'children';
      children: OpenChild[];
      /** Children that have not ended, waiting ones included. */
      open: number;
    }
  /** Generators elsewhere in the workflow that may still add children. */
  | { type: 'generators'; generators: { id: TaskId; name: string; state: TaskState }[]; total: number };

export interface ContainerExplanation {
  container: Container;
  /** Summary in one sentence. */
  summary: string;
  obstacles: ContainerObstacle[];
}
