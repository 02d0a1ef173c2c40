/** What a stream of events tells: one of these for each stream, since it knows what it has told. */
export interface Feed {
  /** Whose changes ring. */
  readonly workflowId: string;
  /** What is new since the cursor; null where there is no such thing any more. */
  read(cursor: number): Promise<FeedNews | null>;
}

export interface FeedNews {
  /** For the next read, and for a client that comes back. */
  cursor: number;
  /** Nothing more will happen. */
  ended: boolean;
  /** Data of `change` events, in parts; none where nothing is new. */
  parts: readonly unknown[];
  /** The same without any nodes, for a first event that has nothing to tell and for the last one. */
  bare: unknown;
}

/** Nodes of one event; a large graph comes in several. */
export const NODES_PER_EVENT = 1000;

/** What a stream has told already: the engine looks back a little each time, and repeats itself. */
export class Told {
  readonly #told = new Map<string, string>();

  /** @param version differs whenever anything that is told of it does */
  isNew(id: string, version: string): boolean {
    if (this.#told.get(id) === version) return false;
    this.#told.set(id, version);
    return true;
  }
}
