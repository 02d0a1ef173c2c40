import type { Utf16 } from './decode/utf16.ts';
import type { LineState } from './line-index.ts';
import type { SurroundingText } from './match-contexts.ts';
import type { MatchedText, MatchSink } from './match-sink.ts';
import type { ScanState } from './object-scan.ts';
import type { DetectionPlan } from './plan.ts';
import type { Detection } from './port.ts';
import type { CompiledRule } from './rules/compiled-rule.ts';

/** A call of a `MatchSink`; rules by number. */
type SegmentEvent =
  | { type: 'secret'; text: MatchedText; is_encoded: boolean }
  | { type: 'detection'; rule: number; detection: Detection; text: MatchedText; around: SurroundingText }
  | { type: 'settle'; offset: number };

/**
 * The scan of a part of an object on the assumption that the bytes before it left a certain state behind. Plain data
 * that crosses threads.
 */
export interface ScannedSegment {
  encoding: Utf16 | null;
  /** The assumed state, whose lines are counted from where reading began, and the state after the segment. */
  before: ScanState;
  after: ScanState;
  events: readonly SegmentEvent[];
  /** Number of a rule, and the milliseconds that it took. */
  spent: readonly [number, number][];
}

/** A segment with more results is scanned by the thread that has the object, which delivers them as it goes. */
const SEGMENT_LOG_BYTES_MAX = 2 * 1024 * 1024;

/** A JavaScript object with the fields of a detection, and short strings. */
const EVENT_BYTES = 512;

/** Records the matches of a segment. */
export class SegmentLog implements MatchSink {
  readonly #plan: DetectionPlan;
  #events: SegmentEvent[] = [];
  #bytes = 0;

  constructor(plan: DetectionPlan) {
    this.#plan = plan;
  }

  get isFull(): boolean {
    return this.isOverfull;
  }

  get isOverfull(): boolean {
    return this.#bytes > SEGMENT_LOG_BYTES_MAX;
  }

  get events(): readonly SegmentEvent[] {
    return this.#events;
  }

  clear(): void {
    this.#events = [];
    this.#bytes = 0;
  }

  secret(text: MatchedText, is_encoded: boolean): void {
    this.#add({ type: 'secret', text: plainText(text), is_encoded }, text.match.length);
  }

  detection(rule: CompiledRule, detection: Detection, text: MatchedText, around: SurroundingText): void {
    const length = 2 * text.match.length + around.text.length;
    this.#add({ type: 'detection', rule: this.#plan.numberOf(rule), detection, text: plainText(text), around }, length);
  }

  settle(offset: number): void {
    this.#add({ type: 'settle', offset }, 0);
  }

  #add(event: SegmentEvent, length: number): void {
    this.#bytes += EVENT_BYTES + length;
    if (!this.isOverfull) this.#events.push(event);
  }
}

function plainText({ start, end, match, secret }: MatchedText): MatchedText {
  return { start, end, match, secret };
}

interface ReplayOptions {
  /** Lines at the beginning of the segment: the true ones, and as counted in the segment. */
  before: LineState;
  assumed: LineState;
  plan: DetectionPlan;
  sink: MatchSink;
}

/** Passes the matches of a segment to a sink, with their true lines, and returns the true state after it. */
export function replay({ events, after }: ScannedSegment, { before, assumed, plan, sink }: ReplayOptions): ScanState {
  const newlines = before.newlines - assumed.newlines;
  // A line that began before what was read.
  const columns = assumed.newlines === 0 ? assumed.line_start - before.line_start : 0;
  const placed = (detection: Detection): Detection => {
    const { line, column, end_line, end_column } = detection;
    return {
      ...detection,
      line: line + newlines,
      column: line === 1 ? column + columns : column,
      end_line: end_line + newlines,
      end_column: end_line === 1 ? end_column + columns : end_column,
    };
  };
  for (const event of events) {
    if (event.type === 'settle') sink.settle(event.offset);
    else if (event.type === 'secret') sink.secret(event.text, event.is_encoded);
    else sink.detection(plan.ruleAt(event.rule), placed(event.detection), event.text, event.around);
  }
  const { lines } = after;
  const line_start = lines.newlines === 0 ? before.line_start : lines.line_start;
  return { ...after, lines: { at: lines.at, newlines: lines.newlines + newlines, line_start } };
}
