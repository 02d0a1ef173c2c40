import { elementPath } from '@heddle/base/json/path';
import { checkerOf } from '../validation/check.ts';
import type { FaultList } from '../validation/explain.ts';
import { MAX_TASKS, NewTaskDto, NewTaskList } from '../wire/new-task.ts';

export const TASKS_PATH = 'tasks';

const listChecker = checkerOf(NewTaskList);
const taskChecker = checkerOf(NewTaskDto);

/** A task of the request that matches its schema, with its path; others are left out and reported as faults. */
export interface ReadTask {
  index: number;
  path: string;
  dto: NewTaskDto;
}

/** Reads the tasks of a request's body, by schema alone. */
export function readTasks(body: unknown, faults: FaultList): ReadTask[] {
  if (body === undefined || body === null) {
    faults.add('', 'is required; send a JSON array of tasks');
    return [];
  }
  if (!Array.isArray(body)) {
    listChecker.explain(body, '', faults);
    return [];
  }
  if (body.length > MAX_TASKS) {
    faults.add(
      TASKS_PATH,
      `must have at most ${MAX_TASKS} elements, not ${body.length}; send them in several requests`,
    );
    return [];
  }
  const all = listChecker.fits(body);
  const read: ReadTask[] = [];
  for (const [index, dto] of (body as unknown[]).entries()) {
    const path = elementPath(TASKS_PATH, index);
    if (all || taskChecker.fits(dto)) read.push({ index, path, dto: dto as NewTaskDto });
    else if (faults.full) break;
    else taskChecker.explain(dto, path, faults);
  }
  return read;
}
