import { getBatch, getDag } from '../api/client.ts';
import type { ChangeEvent } from '../api/wire.ts';
import type { FeedSource } from '../live/live-feed.ts';
import type { TaskStore } from './task-store.ts';

/** Reads a batch for a live feed. */
export class DagSource implements FeedSource {
  readonly eventsPath: string;
  readonly resumable = false;
  readonly lastEventId = null;
  private readonly batchId: string;
  private readonly store: TaskStore;

  constructor(batchId: string, store: TaskStore) {
    this.batchId = batchId;
    this.store = store;
    this.eventsPath = `/v1/batches/${encodeURIComponent(batchId)}/events`;
  }

  get loaded(): boolean {
    return this.store.loaded;
  }

  get finished(): boolean {
    return this.store.finished;
  }

  async read(signal: AbortSignal): Promise<void> {
    const dag = await getDag(this.batchId, signal);
    // The batch's own record only adds its name: the graph is useful without it.
    const batch = dag.batch ?? (await getBatch(this.batchId, signal).catch(() => null));
    if (batch !== null) this.store.batch = batch;
    this.store.replace(dag);
  }

  take(data: unknown): boolean {
    const change = data as ChangeEvent;
    if (change.batch) this.store.batch = { ...this.store.batch, ...change.batch };
    return this.store.apply(change.tasks);
  }
}
