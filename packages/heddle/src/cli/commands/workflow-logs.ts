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
    const { id: task_id, local_id, name } = task;
    const writer = new LogWriter(output, { timestamps: timestamps === true, task: { task_id, local_id, name } });
    let page = await client.taskLogs(task_id);
    // The pages of one attempt, even if the next one begins meanwhile.
    while (page.attempt !== null && page.lines.length > 0) {
      writer.write(page.attempt, page.lines);
      page = await client.taskLogs(task_id, { attempt: page.attempt, from: page.next });
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
