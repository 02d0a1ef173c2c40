import { writeAttempts } from './task-attempts.ts';
import type { ClientContext } from '../output/client-command.ts';
import type { Output } from '@heddle/base/terminal/output';
import { STATUS_LOOKS, type Status } from '../output/status.ts';
import { count, printable } from '@heddle/base/terminal/text';
import type { Expansion, Explanation, Obstacle } from '../output/wire.ts';

export async function explainTask(
  { client, output }: ClientContext,
  _options: unknown,
  id: string,
): Promise<undefined> {
  const explanation = await client.explainTask(id);
  output.result(explanation, () => writeExplanation(output, explanation));
  return undefined;
}

function writeExplanation(output: Output, explanation: Explanation): void {
  const { task, summary, obstacles, expansion, ended_attempts } = explanation;
  const { symbol, style } = STATUS_LOOKS[task.status];
  output.line(`${output.paint(style, `${symbol} ${task.status}`)} ${printable(task.name)} (${task.id})`);
  output.line(printable(summary));
  for (const obstacle of obstacles) for (const line of linesOf(output, obstacle)) output.line(`  ${line}`);
  if (expansion !== null) for (const line of expansionLines(expansion)) output.line(`  ${line}`);
  if (ended_attempts.length > 0) writeAttempts(output, ended_attempts);
}

function expansionLines({ expected, created, missing, created_ids, dead_letters }: Expansion): string[] {
  const announced = expected === null ? 'none announced yet' : `${expected} announced`;
  const more = created > created_ids.length ? [`  and ${created - created_ids.length} more`] : [];
  return [
    `nodes created: ${created}, ${announced}${missing === null || missing === 0 ? '' : `, ${missing} missing`}`,
    ...created_ids.map((id) => `  ${id}`),
    ...more,
    ...dead_letters.map(({ id, reason }) => `  dead letter: ${printable(id ?? 'without an ID')}: ${printable(reason)}`),
  ];
}

interface Named {
  id: string;
  name: string;
  status: Status;
}

function named(output: Output, { id, name, status }: Named): string {
  return `${output.paint(STATUS_LOOKS[status].style, status)} ${printable(name)} (${id})`;
}

/** The command that releases the slot of a canceled task whose target never reports. */
function releaseHint({ id, status }: Named): string {
  return status === 'Canceled' ? `; if it has stopped: heddle task release ${id}` : '';
}

/** The details of an obstacle, and the command that helps if there is one. */
function linesOf(output: Output, obstacle: Obstacle): string[] {
  switch (obstacle.type) {
    case 'sequence': {
      const { id, local_id, state } = obstacle.container;
      const where = local_id === null ? id : `${printable(local_id)} (${id})`;
      return [`waiting in the container ${where}, ${state}:`, ...obstacle.before.map((name) => `  ${printable(name)}`)];
    }
    case 'expanding':
      return [`waiting for the nodes that it announced: ${obstacle.created} of ${obstacle.expected} exist`];
    case 'parents': {
      const shown = obstacle.parents.map(
        (parent) =>
          `  ${named(output, parent)}${parent.requires_success ? ', which must succeed' : ', which must end'}`,
      );
      return [`waiting for ${count(obstacle.total, 'task')}:`, ...shown];
    }
    case 'rule': {
      const fields = Object.entries(obstacle.fields).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
      const where = fields.length === 0 ? '' : ` where ${printable(fields.join(', '))}`;
      const what = obstacle.rule === 'Capacity' ? 'units of work' : 'tasks';
      return [
        `rule: ${obstacle.used} of ${obstacle.max} ${what} of kind ${printable(obstacle.kind)}${where} are held by:`,
        ...obstacle.holders.map((holder) => `  ${named(output, holder)}${releaseHint(holder)}`),
      ];
    }
    case 'paused':
      return [`paused since ${obstacle.since}; resume with: heddle task resume ID`];
    case 'delayed':
      return [`not before ${obstacle.until}, as attempt ${obstacle.attempt}`];
    case 'no_worker':
      return [`no worker for ${printable(obstacle.lane)}; last seen: ${obstacle.last_seen ?? 'never'}`];
    case 'runner': {
      const { request_id, since, launching, last_failure, runners } = obstacle;
      return [
        ...(request_id === null
          ? []
          : [`requested from the pool at ${since ?? 'an unknown time'}, request ${request_id}`]),
        ...(launching === 0 ? [] : [`launching: ${count(launching, 'runner')}`]),
        ...(last_failure === null ? [] : [`last launch: ${printable(last_failure)}`]),
        ...runners.map((runner) => `runner ${runner.number} (${runner.id})${runner.running ? ', running' : ''}`),
        'see the pool with: heddle pool list',
      ];
    }
    case 'queued':
      return [`${count(obstacle.ahead, 'task')} ahead of it in its lane`];
    case 'delivering':
      return [
        `start webhook tried ${count(obstacle.tries, 'time')}`,
        ...(obstacle.last_error === null ? [] : [`last error: ${printable(obstacle.last_error)}`]),
        ...(obstacle.next_try_at === null ? [] : [`next try: ${obstacle.next_try_at}`]),
      ];
  }
}
