import type { ClientContext } from '../output/client-command.ts';
import type { Output } from '@heddle/base/terminal/output';
import { fullPage, writeNext } from '../output/list-options.ts';
import { STATE_LOOKS, type WorkflowState } from '../output/status.ts';
import { writeFields, type Column } from '@heddle/base/terminal/table';
import { count, printable } from '@heddle/base/terminal/text';
import type { TreeNode, Workflow, WorkflowTree } from '../output/wire.ts';
import { tookOf, workQuery, writeWork, type WorkListOptions } from '../output/work.ts';

export interface WorkflowListOptions extends WorkListOptions {
  state?: WorkflowState;
}

export async function listWorkflows(
  { client, output }: ClientContext,
  { state, ...options }: WorkflowListOptions,
): Promise<undefined> {
  const { items, next } = await fullPage(
    (after) => client.pages.workflows({ ...workQuery(options, after), ...(state === undefined ? {} : { state }) }),
    options,
  );
  const stateColumn: Column<Workflow> = {
    header: 'STATE',
    value: stateOf,
    style: (workflow) => STATE_LOOKS[workflow.state].style,
  };
  output.result(items, () => {
    writeWork(output, 'workflows', items, [stateColumn]);
    writeNext(output, next);
  });
  return undefined;
}

function stateOf({ state, paused }: Workflow): string {
  return paused ? `${state}, paused` : state;
}

export interface WorkflowGetOptions {
  depth?: number;
  /** False with `--no-tasks`. */
  tasks: boolean;
}

export async function showWorkflow(
  { client, output }: ClientContext,
  { depth, tasks }: WorkflowGetOptions,
  id: string,
): Promise<undefined> {
  const tree = await client.getWorkflow(id, { ...(depth === undefined ? {} : { depth }), ...(tasks ? {} : { tasks }) });
  output.result(tree, () => writeTree(output, tree));
  return undefined;
}

function writeTree(output: Output, tree: WorkflowTree): void {
  const { symbol, style } = STATE_LOOKS[tree.state];
  writeFields(output, [
    ['id', tree.id],
    ['name', tree.name === null ? null : printable(tree.name)],
    ['state', output.paint(style, `${symbol} ${stateOf(tree)}`)],
    ['ended', `${tree.task_count - tree.remaining} of ${count(tree.task_count, 'task')}`],
    ['created', tree.created_at],
    ['took', tookOf(tree)],
    ['archived', tree.archived ? 'yes' : null],
  ]);
  output.line();
  // Uses an explicit stack: a tree may be deeper than the call stack allows.
  const pending: { node: TreeNode; indent: string }[] = [{ node: tree.root, indent: '' }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { node, indent } = next;
    output.line(`${indent}${lineOf(output, node)}`);
    if (node.type === 'task') continue;
    const inner = `${indent}  `;
    if (node.children_omitted > 0)
      output.line(`${inner}… ${count(node.children_omitted, 'child', 'children')} not shown`);
    for (const child of node.children.toReversed()) pending.push({ node: child, indent: inner });
  }
}

function lineOf(output: Output, node: TreeNode): string {
  const { symbol, style } = STATE_LOOKS[node.state];
  const reason = node.reason === null ? '' : `: ${printable(node.reason)}`;
  return `${output.paint(style, symbol)} ${labelOf(node)} ${output.paint(style, node.state)}${reason}`;
}

function labelOf(node: TreeNode): string {
  const policy = node.policy === 'FailOnFailure' ? '' : `, ${node.policy}`;
  if (node.type === 'container') {
    const { children, open } = node.counts;
    const waits = node.open_generators > 0 ? ', may grow' : '';
    const what = `${node.mode}, ${children - open}/${children} ended${waits}${policy}`;
    return node.local_id === null ? `(${what})` : `${printable(node.local_id)} (${what})`;
  }
  const { expansion } = node;
  const made =
    expansion === null
      ? ''
      : `, made ${expansion.created}${expansion.expected === null ? '' : `/${expansion.expected}`}`;
  const again = node.attempt > 1 ? `, attempt ${node.attempt}` : '';
  return `${printable(node.name)} [${printable(node.kind)}${made}${again}${policy}] ${node.id}`;
}
