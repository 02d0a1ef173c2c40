import type { Container, TreeTask } from '@heddle/base/vocabulary/workflow';
import { containerEnded } from '@heddle/base/vocabulary/task-state';
import type { Engine } from '@heddle/core/engine/port';
import { treeChangesToWire } from '../wire/workflow.ts';
import { versionOf } from './batch-feed.ts';
import { NODES_PER_EVENT, SentVersions, type Feed, type FeedChanges } from './feed.ts';

/** Reads the changed containers and tasks of a tree. */
export class WorkflowFeed implements Feed {
  readonly workflowId: string;
  readonly #engine: Engine;
  readonly #sent = new SentVersions();

  constructor(engine: Engine, workflowId: string) {
    this.#engine = engine;
    this.workflowId = workflowId;
  }

  async read(cursor: number): Promise<FeedChanges | null> {
    const changes = await this.#engine.treeChanges(this.workflowId, cursor);
    if (changes === null) return null;
    const { workflow, containers, tasks } = treeChangesToWire({
      ...changes,
      tree: {
        containers: changes.tree.containers.filter((one) => this.#sent.isNew(one.id, containerVersionOf(one))),
        tasks: changes.tree.tasks.filter((one) => this.#sent.isNew(one.id, taskVersionOf(one))),
      },
    });
    const parts: unknown[] = [];
    // Containers come first, so that a task's container is known.
    for (let at = 0; at < containers.length + tasks.length; at += NODES_PER_EVENT) {
      const taskAt = at - containers.length;
      parts.push({
        workflow,
        containers: containers.slice(at, at + NODES_PER_EVENT),
        tasks: tasks.slice(Math.max(0, taskAt), Math.max(0, taskAt + NODES_PER_EVENT)),
      });
    }
    const { remaining, root_state: root } = changes.workflow;
    const ended = remaining === 0 && root !== null && containerEnded(root);
    return { cursor: changes.cursor, ended, parts, bare: { workflow, containers: [], tasks: [] } };
  }
}

function taskVersionOf(task: TreeTask): string {
  const { expansion } = task;
  return expansion === null ? versionOf(task) : `${versionOf(task)} ${expansion.expected} ${expansion.created}`;
}

function containerVersionOf({ state, counts, open_generators, reason, started_at, ended_at }: Container): string {
  return `${state} ${Object.values(counts).join(' ')} ${open_generators} ${started_at} ${ended_at} ${reason}`;
}
