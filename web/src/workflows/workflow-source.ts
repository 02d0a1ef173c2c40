import { ApiError } from '../api/client.ts';
import { getWorkflowTree, listChildren } from '../api/workflows.ts';
import type { WorkflowChange } from '@heddle/client';
import { resumePoint } from '../live/live-feed.ts';
import type { FeedSource } from '../live/live-feed.ts';
import type { TreeStore } from './tree-store.ts';
import { PAGE_SIZE } from './tree-view.ts';

/** Minimum time between two requests for the same page. */
const PAGE_GAP_MS = 1000;

/** Reads a workflow for a live feed, and the pages of its large containers. */
export class WorkflowSource implements FeedSource {
  readonly eventsPath: string;
  readonly resumable = true;
  private readonly id: string;
  private readonly store: TreeStore;
  private readonly loading = new Set<string>();
  private closed = new AbortController();

  constructor(id: string, store: TreeStore) {
    this.id = id;
    this.store = store;
    this.eventsPath = `/v1/workflows/${encodeURIComponent(id)}/events`;
  }

  get loaded(): boolean {
    return this.store.loaded;
  }

  get finished(): boolean {
    return this.store.finished;
  }

  get endedAt(): string | null {
    return this.store.workflow?.ended_at ?? null;
  }

  get lastEventId(): string | null {
    let latest = 0;
    for (const node of this.store.nodes.values()) if (node.type === 'task') latest = Math.max(latest, node.updatedAt);
    return resumePoint(latest);
  }

  open(): () => void {
    this.closed = new AbortController();
    return () => this.closed.abort();
  }

  async read(signal: AbortSignal): Promise<void> {
    this.store.replace(await getWorkflowTree(this.id, signal));
    await Promise.all([...this.store.pages].map(([container, { from }]) => this.readPage(container, from, signal)));
  }

  take(data: unknown): boolean {
    return this.store.loaded && this.store.apply(data as WorkflowChange);
  }

  /** Loads the page at position `from` of a container's children into the store. */
  readonly loadPage = (container: string, from: number): void => {
    const key = `${container} ${from}`;
    if (this.loading.has(key)) return;
    this.loading.add(key);
    const { signal } = this.closed;
    this.readPage(container, from, signal).catch(() => undefined);
    // A page that was too short (children just being created) or missing is requested again.
    setTimeout(() => {
      this.loading.delete(key);
      if (!signal.aborted) this.store.look();
    }, PAGE_GAP_MS);
  };

  private async readPage(container: string, from: number, signal: AbortSignal): Promise<void> {
    const page = { page: Math.floor(from / PAGE_SIZE), pageSize: PAGE_SIZE };
    try {
      this.store.putPage(from, await listChildren(this.id, container, page, signal));
    } catch (error) {
      // The next full read reports that it is gone.
      if (!(error instanceof ApiError)) throw error;
    }
  }
}
