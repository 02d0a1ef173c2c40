import type { TaskId } from '../domain/ids.ts';
import type { JsonObject } from '../domain/json.ts';
import type { Task } from '../domain/task.ts';
import type { ContainerState, TaskState } from '../domain/task-state.ts';

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
