import type { TaskId } from '../domain/ids.ts';
import type { JsonObject } from '../domain/json.ts';
import type { Demand } from '../domain/runner/requirements.ts';
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
  /** `never`: none has ever asked for its kind, which may be misspelled. */
  | { type: 'no_worker'; lane: string; last_seen: number | null; never?: { did_you_mean: string | null } }
  | RunnerObstacle
  | { type: 'queued'; ahead: number }
  | { type: 'delivering'; tries: number; last_error: string | null; next_try_at: number | null };

/** A task waits for the runners that it needs. */
export interface RunnerObstacle {
  type: 'runner';
  /** What it asks for now. */
  requirements: Demand;
  /** `unasked`: the pool has not heard of it; `held_back`: a rule would stop it anyway; `granted`: it is about to begin. */
  stage: 'unasked' | 'held_back' | 'waiting' | 'granted';
  request_id: string | null;
  /** When it was asked for. */
  since: number | null;
  /** Requests for the same class that come first. */
  ahead: number;
  /** `global`: none is idle; `local`: those that are do not suit it; `uncertain`: not all could be looked at. */
  exhaustion: 'global' | 'local' | 'uncertain' | null;
  /** Runners that are being launched for what it asks for, for others too. */
  launching: number;
  /** What the last launch failed of. */
  last_failure: string | null;
  /** Those that it got. */
  runners: { id: string; number: number; running: boolean }[];
}

/** What a generator announced, and what of it exists. */
export interface Expansion {
  /** Nodes that it announced; null until it has. */
  expected: number | null;
  /** Nodes that its current attempt made. */
  created: number;
  /** Announced nodes that do not exist; null until it announced any. */
  missing: number | null;
  /** Ids of those that exist, as the generator sent them, in ascending order: the first 1,000. */
  created_ids: string[];
  /** Of those that are missing, the nodes whose messages became dead letters: the first 20. */
  dead_letters: { id: string | null; reason: string }[];
}

export interface Explanation {
  task: Task;
  /** One sentence that answers the question. */
  summary: string;
  obstacles: Obstacle[];
  /** Null of a task that makes no nodes. */
  expansion: Expansion | null;
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
