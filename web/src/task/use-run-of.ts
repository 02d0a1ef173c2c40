import type { RunDetail, Task } from '@heddle/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { getRun } from '../api/runs.ts';
import { useLive } from '../data/live.ts';

/** The run of a task, for its title. */
export function useRunOf(task: Task | undefined): UseQueryResult<RunDetail> {
  const id = task?.batch_id ?? '';
  return useLive(['run of task', id], (signal) => getRun(id, signal), { every: false, enabled: id !== '' });
}
