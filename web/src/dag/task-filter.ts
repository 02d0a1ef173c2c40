import type { TaskView } from './task-store.ts';

/** Whether a task's name, kind or id contains every word of the query, in any case. */
export function matchesQuery(task: TaskView, query: string): boolean {
  const words = query.trim().toLowerCase().split(/\s+/);
  const text = `${task.name}\n${task.kind}\n${task.id}`.toLowerCase();
  return words.every((word) => text.includes(word));
}
