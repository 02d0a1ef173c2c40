import type { IncomingMessage, ServerResponse } from 'node:http';
import { NO_DEPENDENTS, NOTHING_LOGGED, sendJson, sendProblem } from './fixture-answers.ts';
import type { FixtureApi } from './fixture-answers.ts';
import { isOpen } from './fixture-workflows.ts';
import type { FixtureContainer, FixtureNode, FixtureTreeTask, FixtureWorkflow } from './fixture-workflows.ts';

const COUNTED: Record<string, string> = {
  Succeeded: 'succeeded',
  Failed: 'failed',
  Timeout: 'timed_out',
  PartiallyFailed: 'partially_failed',
  Disabled: 'disabled',
};

/** A stand-in for the server's workflow API: lists, trees truncated at `nodesMax`, pages, events, operations. */
export class FixtureWorkflowApi implements FixtureApi {
  readonly workflows = new Map<string, FixtureWorkflow>();
  /** Nodes of one response. */
  nodesMax = 10_000;
  /** Whole trees that were read. */
  treesRead = 0;
  private readonly streams = new Map<string, Set<ServerResponse>>();

  /** Number of pages that follow a workflow. */
  listeners(id: string): number {
    return this.streams.get(id)?.size ?? 0;
  }

  clear(): void {
    this.workflows.clear();
    this.treesRead = 0;
    this.nodesMax = 10_000;
  }

  /** Changes a node like the engine, and notifies the listeners of it and its containers. */
  change(workflowId: string, nodeId: string, fields: Partial<FixtureTreeTask>): void {
    const workflow = this.workflows.get(workflowId)!;
    const path = pathTo(workflow.root, nodeId);
    const node = path.at(-1)!;
    Object.assign(node, node.type === 'task' ? { last_updated: new Date().toISOString() } : {}, fields);
    const around = path.filter((one) => one.type === 'container').map(bare);
    const tasks = node.type === 'task' ? [node] : [];
    this.send(workflowId, 'change', { workflow: summary(workflow), containers: around, tasks });
  }

  /** Adds children to a container and notifies the listeners, like a generator. */
  add(workflowId: string, containerId: string, nodes: FixtureNode[]): void {
    const workflow = this.workflows.get(workflowId)!;
    const container = pathTo(workflow.root, containerId).at(-1) as FixtureContainer;
    for (const node of nodes) {
      Object.assign(node, { parent_id: containerId, position: container.children.length });
      container.children.push(node);
    }
    const tasks = nodes.filter((node) => node.type === 'task');
    this.send(workflowId, 'change', { workflow: summary(workflow), containers: [bare(container)], tasks });
  }

  /** Ends the stream of a workflow, like the server when everything has ended. */
  end(workflowId: string): void {
    const workflow = this.workflows.get(workflowId)!;
    workflow.ended_at = new Date().toISOString();
    this.send(workflowId, 'end', { workflow: summary(workflow), containers: [], tasks: [] });
    for (const stream of this.streams.get(workflowId) ?? []) stream.end();
  }

  handle(url: URL, request: IncomingMessage, response: ServerResponse): boolean {
    const [version, resource, id, part, container] = url.pathname.split('/').slice(1);
    if (version === 'v1' && resource === 'workflows') {
      if (id === undefined) sendJson(response, this.list(url.searchParams));
      else this.answer(this.workflows.get(id), [part, container], url.searchParams, request, response);
      return true;
    }
    if (version === 'v1' && resource === 'runs' && this.workflows.has(id ?? '')) {
      sendJson(response, runOf(this.workflows.get(id!)!));
      return true;
    }
    const taskId = version === 'task' ? resource : resource === 'tasks' ? id : undefined;
    const found = taskId === undefined ? undefined : this.findTask(taskId);
    if (found === undefined || request.method !== 'GET') return false;
    if (part === 'explain') sendJson(response, { ...(explain(found) as object), dependents: NO_DEPENDENTS });
    else if (part === 'result' && result(found) === null) sendProblem(response, 404, 'No result');
    else if (part === 'result') sendJson(response, result(found));
    else if (part === 'attempts' || part === 'artifacts') sendJson(response, []);
    else if (part === 'logs') sendJson(response, NOTHING_LOGGED);
    else sendJson(response, detail(found));
    return true;
  }

  private answer(
    workflow: FixtureWorkflow | undefined,
    [part, container]: (string | undefined)[],
    search: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    if (workflow === undefined) sendProblem(response, 404, 'No such workflow');
    else if (request.method === 'POST') this.operate(workflow, part ?? '', response);
    else if (part === undefined) sendJson(response, this.tree(workflow));
    else if (part === 'events') this.stream(workflow, request, response);
    else if (part === 'containers') sendJson(response, this.children(workflow, container!, search));
    else sendProblem(response, 404, 'No such resource');
  }

  private list(search: URLSearchParams): unknown[] {
    const page = Number(search.get('page') ?? 0);
    const size = Number(search.get('page_size') ?? 50);
    const open = search.get('open');
    const state = search.get('state');
    return [...this.workflows.values()]
      .sort((a, b) => b.created_at.localeCompare(a.created_at))
      .filter((one) => open === null || isOpen(one.root) === (open === 'true'))
      .filter((one) => state === null || one.root.state === state)
      .slice(page * size, (page + 1) * size)
      .map(summary);
  }

  /** Nodes nearest to the root, as many as fit in one response. */
  tree(workflow: FixtureWorkflow): unknown {
    this.treesRead += 1;
    let room = this.nodesMax - 1;
    let truncated = false;
    const root = { ...bare(workflow.root), children: [] as unknown[], children_omitted: 0 };
    const open = [{ from: workflow.root, to: root }];
    for (let next = open.shift(); next !== undefined; next = open.shift()) {
      const { from, to } = next;
      const fitting = from.children.slice(0, Math.max(0, room));
      room -= fitting.length;
      to.children_omitted = from.children.length - fitting.length;
      truncated ||= to.children_omitted > 0;
      for (const child of fitting) {
        if (child.type === 'task') {
          to.children.push(child);
          continue;
        }
        const copy = { ...bare(child), children: [] as unknown[], children_omitted: 0 };
        to.children.push(copy);
        open.push({ from: child, to: copy });
      }
    }
    return { ...summary(workflow), truncated, root };
  }

  /** One page of a container's children. */
  children(workflow: FixtureWorkflow, id: string, search: URLSearchParams): unknown {
    const container = pathTo(workflow.root, id).at(-1) as FixtureContainer;
    const page = Number(search.get('page'));
    const size = Number(search.get('page_size'));
    const nodes = container.children.slice(page * size, (page + 1) * size);
    return { container: bare(container), children: nodes.map((node) => (node.type === 'task' ? node : bare(node))) };
  }

  private operate(workflow: FixtureWorkflow, operation: string, response: ServerResponse): void {
    const tasks = allTasks(workflow.root);
    const root = workflow.root;
    if (operation === 'pause' || operation === 'resume') {
      workflow.paused = operation === 'pause';
      this.change(workflow.id, root.id, {});
    } else if (operation === 'cancel') {
      for (const task of tasks.filter(isOpen))
        this.change(workflow.id, task.id, { state: 'Failed', status: 'Canceled' });
      this.change(workflow.id, root.id, { state: 'Failed' });
      this.end(workflow.id);
    } else {
      workflow.ended_at = null;
      for (const task of tasks.filter((one) => one.state === 'Failed')) {
        Object.assign(task, { state: 'Pending', status: 'Pending', last_updated: new Date().toISOString() });
      }
      Object.assign(root, { state: 'Running', ended_at: null });
    }
    sendJson(response, { done: tasks.length });
  }

  private stream(workflow: FixtureWorkflow, request: IncomingMessage, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write(': open\n\n');
    const listeners = this.streams.get(workflow.id) ?? new Set();
    this.streams.set(workflow.id, listeners.add(response));
    request.on('close', () => listeners.delete(response));
    if (!isOpen(workflow.root)) response.end('event: end\ndata: {}\n\n');
  }

  private send(id: string, event: string, data: unknown): void {
    for (const stream of this.streams.get(id) ?? []) stream.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  private findTask(id: string): { workflow: FixtureWorkflow; task: FixtureTreeTask } | undefined {
    for (const workflow of this.workflows.values()) {
      const task = allTasks(workflow.root).find((one) => one.id === id);
      if (task !== undefined) return { workflow, task };
    }
    return undefined;
  }
}

function allTasks(root: FixtureContainer): FixtureTreeTask[] {
  const tasks: FixtureTreeTask[] = [];
  const open: FixtureNode[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.type === 'task') tasks.push(node);
    else open.push(...node.children);
  }
  return tasks;
}

/** The nodes from the root down to one. */
function pathTo(root: FixtureContainer, id: string): FixtureNode[] {
  const open: FixtureNode[][] = [[root]];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const node = path.at(-1)!;
    if (node.id === id) return path;
    if (node.type === 'container') for (const child of node.children) open.push([...path, child]);
  }
  throw new Error(`no node ${id}`);
}

/** A container without its children, with their counts. */
function bare({ children: nodes, ...container }: FixtureContainer): Record<string, unknown> {
  const counts: Record<string, number> = { children: nodes.length, open: nodes.filter(isOpen).length, tolerated: 0 };
  for (const [state, name] of Object.entries(COUNTED)) {
    counts[name] = nodes.filter((node) => node.state === state).length;
  }
  return { ...container, counts };
}

function summary(workflow: FixtureWorkflow): Record<string, unknown> {
  const { id, name, paused, created_at, ended_at, root } = workflow;
  const tasks = allTasks(root);
  return {
    id,
    name,
    root_container_id: id,
    state: root.state,
    paused,
    task_count: tasks.length,
    remaining: tasks.filter(isOpen).length,
    created_at,
    ended_at,
    archived: false,
  };
}

function runOf(workflow: FixtureWorkflow): unknown {
  const { id, name, created_at, ended_at, root, paused } = workflow;
  const tasks = allTasks(root);
  const count = (...states: string[]): number => tasks.filter(({ state }) => states.includes(state)).length;
  return {
    ...{ id, type: 'workflow', name, title: name, state: paused ? 'Paused' : root.state, created_at, ended_at },
    counts: {
      ...{ total: tasks.length, remaining: tasks.filter(isOpen).length, succeeded: count('Succeeded') },
      ...{ failed: count('Failed', 'Timeout', 'PartiallyFailed'), canceled: 0, skipped: count('Disabled') },
    },
    ...{ reason: root.reason, failed_task: null, job: null, kinds: [], started_at: root.started_at },
  };
}

function result({ workflow, task }: { workflow: FixtureWorkflow; task: FixtureTreeTask }): unknown {
  if (!workflow.results.has(task.id)) return null;
  const { id: task_id, local_id, kind, state } = task;
  return { task_id, local_id, kind, state, data: workflow.results.get(task.id) };
}

function detail({ workflow, task }: { workflow: FixtureWorkflow; task: FixtureTreeTask }): unknown {
  const { state: _state, reason, timeout_secs, policy: _policy, ...rest } = task;
  const metadata = { place: task.position };
  return { ...rest, timeout: timeout_secs, failure_reason: reason, batch_id: workflow.id, metadata, actions: [] };
}

function explain({ workflow, task }: { workflow: FixtureWorkflow; task: FixtureTreeTask }): unknown {
  const parent = pathTo(workflow.root, task.id).at(-2) as FixtureContainer;
  const before = parent.children.find((node) => node.position < task.position && isOpen(node));
  if (before === undefined) return { summary: 'It is next in line.', obstacles: [{ type: 'queued', ahead: 0 }] };
  return {
    summary: `Its turn has not come: it stands in the sequence "${parent.local_id}".`,
    obstacles: [
      {
        type: 'sequence',
        container: { id: parent.id, local_id: parent.local_id, state: parent.state },
        before: [before.local_id ?? before.id],
      },
    ],
  };
}
