import type { EventSummary } from '../../protocol/messages.ts';
import type { CodeWriter } from '../code-writer.ts';

/** Source of code: a directory, a package or a commit. */
export interface CodeSource {
  readonly kind: EventSummary['source'];
  /** For the operator's log; never returned to callers. */
  readonly label: string;
  /** Writes the files into `into`. @throws CodeFault, or the signal's reason */
  fetch(into: CodeWriter, signal: AbortSignal): Promise<void>;
}
