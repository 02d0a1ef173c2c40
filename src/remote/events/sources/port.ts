import type { EventSummary } from '../../protocol/messages.ts';
import type { CodeWriter } from '../code-writer.ts';

/** Where code comes from: a directory, a package, a commit. */
export interface CodeSource {
  readonly kind: EventSummary['source'];
  /** For the operator's log; never told to callers. */
  readonly label: string;
  /** Writes the files; what it does not write is not there. @throws CodeFault, or the signal's reason */
  fetch(into: CodeWriter, signal: AbortSignal): Promise<void>;
}
