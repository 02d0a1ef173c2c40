/** The source of one stream's events; stateful, because it tracks what it has sent. */
export interface Feed {
  /** The channel whose changes trigger a read. */
  readonly workflowId: string;
  /** Time between two reads without a change of the workflow; 5 s by default. */
  readonly pollMs?: number;
  /** Changes since the cursor; null if the object no longer exists. */
  read(cursor: number): Promise<FeedChanges | null>;
}

export interface FeedChanges {
  /** Cursor for the next read and for a client that reconnects. */
  cursor: number;
  /** No more changes will follow. */
  ended: boolean;
  /** More can be read at once. */
  more?: boolean;
  /** Data of `change` events, in parts; empty if nothing has changed. */
  parts: readonly unknown[];
  /** The same without nodes, for an empty first event and for the last one. */
  bare: unknown;
}

/** Nodes per event; a large graph is sent in several events. */
export const NODES_PER_EVENT = 1000;

/** Filters changes already sent: the engine rereads a short overlap each time and repeats itself. */
export class SentVersions {
  readonly #sent = new Map<string, string>();

  /** @param version differs whenever any sent member differs */
  isNew(id: string, version: string): boolean {
    if (this.#sent.get(id) === version) return false;
    this.#sent.set(id, version);
    return true;
  }
}
