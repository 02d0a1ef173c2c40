import type { ListedTask } from '../live/task-list.tsx';
import { progressOf } from './task-store.ts';
import type { TaskView } from './task-store.ts';

export function listedTask(task: TaskView): ListedTask {
  const { id, name, kind, state, reason, startedAt, endedAt } = task;
  return { id, name, kind, state, reason, startedAt, endedAt, share: progressOf(task) };
}
