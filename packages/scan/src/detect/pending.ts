import type { Detection } from './port.ts';
import { checksumHolds } from './rules/checksum.ts';
import type { CompiledRule } from './rules/compiled-rule.ts';

/** Further detections of one object are counted but not kept. */
export const DETECTIONS_PER_OBJECT_MAX = 10_000;

interface Entry {
  rule: CompiledRule;
  detection: Detection;
}

/**
 * Queues the detections of one object: ordered by offset, then rule; a generic one yields to a specific one of the
 * same secret; one that requires others waits for the end.
 */
export class PendingDetections {
  readonly #waitForEnd: boolean;
  #entries: Entry[] = [];
  #ready: Detection[] = [];
  #added = 0;
  #given = 0;
  /** Detections beyond `DETECTIONS_PER_OBJECT_MAX`. */
  dropped = 0;

  constructor(waitForEnd: boolean) {
    this.#waitForEnd = waitForEnd;
  }

  add(rule: CompiledRule, detection: Detection): void {
    // Twice the limit: detections that later yield to others do not count.
    if (this.#added++ >= 2 * DETECTIONS_PER_OBJECT_MAX) this.dropped++;
    else this.#entries.push({ rule, detection });
  }

  /** Declares that no detection before `offset` will be added; Infinity at the object's end. */
  settle(offset: number): void {
    if (this.#entries.length === 0 || (this.#waitForEnd && offset !== Infinity)) return;
    const all = this.#entries.sort(compareEntries).filter((entry, at, sorted) => !isSame(entry, sorted[at - 1]));
    const byRule = this.#waitForEnd ? Map.groupBy(all, ({ rule }) => rule.rule.id) : new Map<string, Entry[]>();
    let settled = 0;
    for (const cluster of clustersOf(all)) {
      if (cluster.some((entry) => endOf(entry) > offset)) break;
      settled += cluster.length;
      for (const entry of cluster) if (isReported(entry, cluster, byRule)) this.#give(entry.detection);
    }
    this.#entries = all.slice(settled);
  }

  /** Returns the detections that became certain since the last call. */
  take(): Detection[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  #give(detection: Detection): void {
    if (this.#given >= DETECTIONS_PER_OBJECT_MAX) {
      this.dropped++;
      return;
    }
    this.#given++;
    this.#ready.push(detection);
  }
}

function endOf({ detection }: Entry): number {
  return detection.offset + detection.length;
}

function compareEntries({ detection: left }: Entry, { detection: right }: Entry): number {
  if (left.offset !== right.offset) return left.offset - right.offset;
  if (left.rule_id !== right.rule_id) return left.rule_id < right.rule_id ? -1 : 1;
  return left.length - right.length || left.encodings.length - right.encodings.length;
}

/** Wrapped text is decoded by line and as a whole: what both find is one detection. */
function isSame({ detection: one }: Entry, other: Entry | undefined): boolean {
  if (other === undefined) return false;
  const { rule_id, offset, length, encodings } = other.detection;
  return (
    one.encodings.length > 0 &&
    one.offset === offset &&
    one.length === length &&
    one.rule_id === rule_id &&
    one.encodings.join() === encodings.join()
  );
}

/**
 * Collects entries that overlap directly or through others: they leave together, so that each is compared with the
 * rest.
 */
function* clustersOf(entries: readonly Entry[]): Generator<Entry[]> {
  let cluster: Entry[] = [];
  let end = 0;
  for (const entry of entries) {
    if (cluster.length > 0 && entry.detection.offset >= end) {
      yield cluster;
      cluster = [];
    }
    cluster.push(entry);
    end = Math.max(end, endOf(entry));
  }
  if (cluster.length > 0) yield cluster;
}

function isReported(
  { rule, detection }: Entry,
  cluster: readonly Entry[],
  byRule: ReadonlyMap<string, readonly Entry[]>,
): boolean {
  if (rule.rule.skip_report) return false;
  // It still keeps generic rules from reporting the same text.
  if (!checksumHolds(rule.rule, detection.secret)) return false;
  const isBetter = (other: Entry): boolean => !other.rule.generic && isSameSecret(detection, other.detection);
  if (rule.generic && cluster.some(isBetter)) return false;
  if (rule.rule.by_name && cluster.some((other) => isPreferred(other, rule) && isBetter(other))) return false;
  return rule.rule.required.every((required) =>
    byRule.get(required.id)?.some((other) => isNear(detection, other.detection, required)),
  );
}

/** Of rules that go by names, the one with the first id reports a secret. */
function isPreferred({ rule: other }: Entry, rule: CompiledRule): boolean {
  return other !== rule && (!other.rule.by_name || other.rule.id < rule.rule.id);
}

/** Returns whether matches overlap and one secret contains the other. */
function isSameSecret(left: Detection, right: Detection): boolean {
  const apart = left.offset + left.length <= right.offset || right.offset + right.length <= left.offset;
  return !apart && (left.secret.includes(right.secret) || right.secret.includes(left.secret));
}

function isNear(
  left: Detection,
  right: Detection,
  within: { within_lines?: number; within_columns?: number },
): boolean {
  const lines = Math.abs(left.line - right.line);
  const columns = Math.abs(left.column - right.column);
  return lines <= (within.within_lines ?? Infinity) && columns <= (within.within_columns ?? Infinity);
}
