import type { Output } from '@heddle/base/terminal/output';
import { STATUS_LOOKS } from '../output/status.ts';
import { writeTable } from '@heddle/base/terminal/table';
import { duration } from '@heddle/base/terminal/text';
import type { BasicTask } from '../output/wire.ts';

/** Writes tasks as a table, in the given order. */
export function writeTasks(output: Output, tasks: readonly BasicTask[]): void {
  if (tasks.length === 0) {
    output.line('no matching tasks');
    return;
  }
  const now = output.clock.now();
  writeTable(
    output,
    [
      { header: 'ID', value: ({ id }) => id },
      { header: 'STATUS', value: ({ status }) => status, style: ({ status }) => STATUS_LOOKS[status].style },
      { header: 'KIND', value: ({ kind }) => kind, flexible: true },
      { header: 'NAME', value: ({ name }) => name, flexible: true },
      { header: 'TRY', value: ({ attempt }) => String(attempt), align: 'right' },
      { header: 'DONE', value: progressOf, align: 'right' },
      { header: 'RAN', value: (task) => ranOf(task, now), align: 'right' },
    ],
    tasks,
  );
}

/** Its counters: successes and failures, of the expected total. */
export function progressOf({ success, failures, expected_count }: BasicTask): string {
  const done = success + failures;
  if (expected_count !== null) return `${done}/${expected_count}`;
  return done === 0 ? '-' : String(done);
}

/** Duration of its last attempt, so far or in total. */
export function ranOf({ started_at, ended_at }: BasicTask, nowMs: number): string {
  if (started_at === null) return '-';
  return duration((ended_at === null ? nowMs : Date.parse(ended_at)) - Date.parse(started_at));
}
