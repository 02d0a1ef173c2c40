import type { EventSummary } from '../protocol/messages.ts';
import type { DescribedEvent, EventCode } from '../execution/port.ts';

/** An event with its code on disk. While it is not disposed of, its code is not evicted. */
export interface ResolvedEvent extends Disposable {
  readonly name: string;
  readonly code: EventCode;
  readonly definition: DescribedEvent;
  readonly source: EventSummary['source'];
}

export interface EventRegistry {
  /**
   * The event of this name; its code is fetched where it is not there, once for all who wait.
   *
   * @throws RemoteFailure EVENT_NOT_REGISTERED, EVENT_UNAVAILABLE
   */
  resolve(name: string, signal: AbortSignal): Promise<ResolvedEvent>;
  has(name: string): boolean;
  /** Names, sorted; of code that was never fetched as well. */
  names(): readonly string[];
  /** What is known of it without fetching anything; null where it is not registered. */
  peek(
    name: string,
  ): { digest: string | null; source: EventSummary['source']; definition: DescribedEvent | null } | null;
  close(): Promise<void>;
}
