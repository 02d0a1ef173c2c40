import type { Task } from '@heddle/base/vocabulary/task';
import type { Engine } from '@heddle/core/engine/port';
import { changesToWire } from '../wire/batch.ts';
import { NODES_PER_EVENT, SentVersions, type Feed, type FeedChanges } from './feed.ts';

/** Reads the changed tasks of a batch. */
export class BatchFeed implements Feed {
  readonly workflowId: string;
  readonly #engine: Engine;
  readonly #sent = new SentVersions();

  constructor(engine: Engine, batchId: string) {
    this.#engine = engine;
    this.workflowId = batchId;
  }

  async read(cursor: number): Promise<FeedChanges | null> {
    const changes = await this.#engine.dagChanges(this.workflowId, cursor);
    if (changes === null) return null;
    const unseen = changes.tasks.filter((task) => this.#sent.isNew(task.id, versionOf(task)));
    const { batch, tasks } = changesToWire({ ...changes, tasks: unseen });
    const parts: unknown[] = [];
    for (let at = 0; at < tasks.length; at += NODES_PER_EVENT) {
      parts.push({ batch, tasks: tasks.slice(at, at + NODES_PER_EVENT) });
    }
    return { cursor: changes.cursor, ended: batch.remaining === 0, parts, bare: { batch, tasks: [] } };
  }
}

export function versionOf({ state, attempt, updated_at, success_count, failure_count }: Task): string {
  return `${state} ${attempt} ${updated_at} ${success_count} ${failure_count}`;
}
