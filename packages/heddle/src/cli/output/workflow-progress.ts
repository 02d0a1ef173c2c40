import type { HeddleClient } from '@heddle/client';
import { BatchProgress, type FollowedTask } from './batch-progress.ts';
import type { Output } from '@heddle/base/terminal/output';
import { displayFor, writeUnsuccessful, type WatchOptions } from './progress.ts';
import { countsInWords, STATE_LOOKS, WORKFLOW_WORDS } from './status.ts';
import { count, duration, printable } from '@heddle/base/terminal/text';
import type { TreeTask, Workflow, WorkflowEvent } from './wire.ts';

export interface WorkflowWatchResult {
  /** False if following was stopped before the last task ended. */
  ended: boolean;
  succeeded: boolean;
}

/**
 * Follows a workflow to completion and shows it: bars on a terminal, plain lines elsewhere, with `--json` one document
 * for each change and one for the end. Throws what the client throws.
 */
export async function watchWorkflow(
  client: HeddleClient,
  id: string,
  { output, signal, onPrinter }: WatchOptions,
): Promise<WorkflowWatchResult> {
  // Requested first, so that a missing workflow or an unreachable server is reported at once.
  let workflow: Workflow = await client.getWorkflow(id, { depth: 0 });
  const progress = new BatchProgress(workflow, WORKFLOW_WORDS);
  const display = displayFor(output, progress);
  onPrinter?.((line) => display.print(line));
  let ended = false;
  try {
    for await (const event of client.watchWorkflow(id, signal)) {
      ({ workflow } = event);
      ended = event.type === 'end';
      const transitions = progress.apply({ batch: workflow, tasks: event.tasks.map(followedOf) });
      if (output.json) writeEvent(output, event, progress);
      else display.update(transitions);
    }
  } finally {
    display.stop();
  }
  const succeeded = workflow.state === 'Succeeded';
  if (!output.json) writeSummary(output, workflow, progress, ended);
  return { ended, succeeded };
}

function followedOf(task: TreeTask): FollowedTask {
  return { ...task, status: task.state, failure_reason: task.reason };
}

function writeEvent(
  output: Output,
  { type, workflow, containers, tasks }: WorkflowEvent,
  progress: BatchProgress,
): void {
  const by_state = progress.counts;
  if (type === 'change') output.document({ event: type, workflow, by_state, containers, tasks });
  else output.document({ event: type, workflow, by_state, succeeded: workflow.state === 'Succeeded' });
}

function writeSummary(output: Output, workflow: Workflow, progress: BatchProgress, ended: boolean): void {
  const { counts, total, words } = progress;
  const elapsed = duration(progress.elapsedMs(output.clock.now()));
  const name = workflow.name === null ? `workflow ${workflow.id}` : printable(workflow.name);
  if (!ended) {
    const done = `${progress.ended} of ${count(total, 'task')} ended after ${elapsed}`;
    output.line(`${name}: ${done}; no longer watching`);
    return;
  }
  const { symbol, style } = STATE_LOOKS[workflow.state];
  const what = total === 0 ? 'it had no tasks' : countsInWords(counts, words);
  output.line(`${output.paint(style, `${symbol} ${workflow.state}`)} ${name} in ${elapsed}: ${what}`);
  if (workflow.state !== 'Succeeded') writeUnsuccessful(output, progress, `heddle workflow get ${workflow.id}`);
}
