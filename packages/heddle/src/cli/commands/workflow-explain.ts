import type { HeddleClient } from '@heddle/client';
import { isId, type ClientContext } from '../output/client-command.ts';
import { UsageFailure } from '../output/failure.ts';
import type { Output } from '@heddle/base/terminal/output';
import { STATE_LOOKS, type WorkflowState } from '../output/status.ts';
import { count, printable } from '@heddle/base/terminal/text';
import type { ContainerExplanation, ContainerObstacle, TreeNode } from '../output/wire.ts';

/** Explains what a container of a workflow waits for: the one with the given id or local name, else the root. */
export async function explainContainer(
  { client, output }: ClientContext,
  _options: unknown,
  id: string,
  container?: string,
): Promise<undefined> {
  const containerId = container === undefined ? id : isId(container) ? container : await idOf(client, id, container);
  const explanation = await client.explainContainer(id, containerId);
  output.result(explanation, () => writeExplanation(output, id, explanation));
  return undefined;
}

async function idOf(client: HeddleClient, id: string, name: string): Promise<string> {
  const pending: TreeNode[] = [(await client.getWorkflow(id, { tasks: false })).root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.local_id === name) return node.id;
    if (node.type === 'container') pending.push(...node.children);
  }
  throw new UsageFailure(`the workflow has no container named "${printable(name)}"`, {
    hint: `list containers with: heddle workflow get ${id} --no-tasks; explain a task with: heddle task explain ID`,
  });
}

function writeExplanation(output: Output, workflowId: string, explanation: ContainerExplanation): void {
  const { container, summary, obstacles } = explanation;
  const root = container.parent_id === null ? 'the root' : container.mode;
  const name = container.local_id === null ? root : printable(container.local_id);
  output.line(`${stated(output, container.state, true)} ${name} (${container.id})`);
  output.line(printable(summary));
  for (const obstacle of obstacles) {
    for (const line of linesOf(output, workflowId, obstacle)) output.line(`  ${line}`);
  }
}

function stated(output: Output, state: WorkflowState, symbol: boolean): string {
  const looks = STATE_LOOKS[state];
  return output.paint(looks.style, symbol ? `${looks.symbol} ${state}` : state);
}

/** The details of an obstacle, and the command that helps if there is one. */
function linesOf(output: Output, workflowId: string, obstacle: ContainerObstacle): string[] {
  switch (obstacle.type) {
    case 'workflow_paused':
      return [`the workflow is paused; resume with: heddle workflow resume ${workflowId}`];
    case 'sequence': {
      const { id, local_id, state } = obstacle.container;
      const where = local_id === null ? id : `${printable(local_id)} (${id})`;
      return [`waiting in the container ${where}, ${state}:`, ...obstacle.before.map((name) => `  ${printable(name)}`)];
    }
    case 'children':
      return [
        `${count(obstacle.open, 'child', 'children')} unfinished; to see why: heddle task explain ID, heddle workflow explain ${workflowId} CONTAINER`,
        ...obstacle.children.map(
          ({ type, id, name, state }) => `  ${stated(output, state, false)} ${type} ${printable(name)} (${id})`,
        ),
      ];
    case 'generators':
      return [
        `${count(obstacle.total, 'generator')} may still add children:`,
        ...obstacle.generators.map(
          ({ id, name, state }) => `  ${stated(output, state, false)} ${printable(name)} (${id})`,
        ),
      ];
  }
}
