import { printable } from '@heddle/base/terminal/text';
import type { ClientContext } from '../output/client-command.ts';
import type { TreeNode } from '../output/wire.ts';
import { LogWriter } from './task-logs.ts';

/** Writes what the tasks of a workflow logged, task by task, each line behind the name of its task. */
export async function showWorkflowLogs(
  { client, output }: ClientContext,
  { timestamps }: { timestamps?: boolean },
  id: string,
): Promise<undefined> {
  const { root } = await client.getWorkflow(id);
  let logged = false;
  for (const task of tasksOf(root)) {
    const writer = new LogWriter(output, timestamps === true, `${printable(task.local_id ?? task.name)} | `);
    for (let from = 0, more = true; more;) {
      const { attempt, lines, next } = await client.taskLogs(task.id, { from });
      writer.write(attempt, lines);
      more = lines.length > 0;
      from = next;
    }
    logged ||= !writer.isEmpty;
  }
  if (!logged) output.notice('its tasks have logged nothing');
  return undefined;
}

type Task = Extract<TreeNode, { type: 'task' }>;

function* tasksOf(node: TreeNode): Generator<Task> {
  if (node.type === 'task') yield node;
  else for (const child of node.children) yield* tasksOf(child);
}
