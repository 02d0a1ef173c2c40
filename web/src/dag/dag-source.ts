import { getDag } from '../api/client.ts';
import type { BatchChange } from '@heddle/client';
import { resumePoint } from '../live/live-feed.ts';
import type { FeedSource } from '../live/live-feed.ts';
import type { TaskStore } from './task-store.ts';

/** Reads a batch for a live feed. */
export class DagSource implements FeedSource {
  readonly eventsPath: string;
  readonly resumable = true;
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

  get endedAt(): string | null {
    return this.store.batch?.ended_at ?? null;
  }

  get lastEventId(): string | null {
    return resumePoint(this.store.latestMs);
  }

  async read(signal: AbortSignal): Promise<void> {
    const dag = await getDag(this.batchId, signal);
    this.store.batch = dag.batch;
    this.store.replace(dag);
  }

  take(data: unknown): boolean {
    const change = data as BatchChange;
    this.store.batch = { ...this.store.batch, ...change.batch };
    return this.store.apply(change.tasks);
  }
}
