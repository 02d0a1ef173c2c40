import type { CursorState } from '../../graph/cursor.ts';
import type { Problem } from '../../result.ts';
import type { DiscoveredObject } from '../port.ts';

export interface PartBatch {
  objects: readonly DiscoveredObject[];
  problems: readonly Problem[];
  /** Where to continue; null after the last object. */
  position: CursorState | null;
  /** True if all objects so far should be scanned before further ones are listed, since their content is in memory. */
  isHeavy?: boolean;
}

/** A part of a repository that is listed by itself: its history, its wiki, a list of its texts. */
export interface ForgePart {
  /** What it waits for. */
  readonly status: string | null;
  /** True if the objects cannot be read after `close`. */
  readonly removes: boolean;
  /** Returns at most `limit` objects after a position; null: from the beginning. */
  list(position: CursorState | null, limit: number): Promise<PartBatch>;
  close(): void | Promise<void>;
}
