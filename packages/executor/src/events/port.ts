import type { EventSummary } from '../protocol/messages.ts';
import type { DescribedEvent, EventCode } from '../execution/port.ts';

/** An event and its code on disk. The code is not evicted until this is disposed. */
export interface ResolvedEvent extends Disposable {
  readonly name: string;
  readonly code: EventCode;
  readonly definition: DescribedEvent;
  readonly source: EventSummary['source'];
}

export interface EventRegistry {
  /**
   * Returns the event with this name; missing code is fetched, once for all concurrent callers.
   *
   * @throws RemoteFailure EVENT_NOT_REGISTERED, EVENT_UNAVAILABLE
   */
  resolve(name: string, signal: AbortSignal): Promise<ResolvedEvent>;
  has(name: string): boolean;
  /** Registered names, sorted, including those whose code was never fetched. */
  names(): readonly string[];
  /** Returns what is known without fetching; null if it is not registered. */
  peek(
    name: string,
  ): { digest: string | null; source: EventSummary['source']; definition: DescribedEvent | null } | null;
  close(): Promise<void>;
}
