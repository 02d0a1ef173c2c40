import { CONFIDENCES, type Confidence, isAtLeast } from '@heddle/base/vocabulary/confidence';
import type { Detection } from './port.ts';
import type { CompiledRule } from './rules/compiled-rule.ts';
import type { DetectionTrace, Suppression } from './trace.ts';

/** Further detections of one object are dropped. */
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
  readonly #confidence: Confidence;
  readonly #trace: DetectionTrace | null;
  readonly #wanted = new DetectionLimit();
  /** Less certain ones do not take the places of others. */
  readonly #unwanted = new DetectionLimit();

  constructor(waitForEnd: boolean, confidence: Confidence, trace: DetectionTrace | null) {
    this.#waitForEnd = waitForEnd;
    this.#confidence = confidence;
    this.#trace = trace;
  }

  /** True if there were reportable detections beyond `DETECTIONS_PER_OBJECT_MAX`. */
  get isFull(): boolean {
    return this.#wanted.isExceeded;
  }

  add(rule: CompiledRule, detection: Detection): void {
    if (this.#limitOf(detection).add()) this.#entries.push({ rule, detection });
  }

  #limitOf({ confidence }: Detection): DetectionLimit {
    return isAtLeast(confidence, this.#confidence) ? this.#wanted : this.#unwanted;
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
      for (const entry of cluster) {
        const suppression = suppressionOf(entry, cluster, byRule);
        this.#trace?.settled(entry.detection, suppression);
        if (suppression === null) this.#give(entry.detection);
      }
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
    // Whatever the chunks, nothing counts after the detection that is one too many.
    if (!this.isFull && this.#limitOf(detection).give()) this.#ready.push(detection);
  }
}

/** Lets detections of one object through up to the limit. */
class DetectionLimit {
  isExceeded = false;
  #added = 0;
  #given = 0;

  add(): boolean {
    // Twice the limit: detections that later yield to others do not count.
    if (this.#added++ < 2 * DETECTIONS_PER_OBJECT_MAX) return true;
    this.isExceeded = true;
    return false;
  }

  give(): boolean {
    if (this.#given++ < DETECTIONS_PER_OBJECT_MAX) return true;
    this.isExceeded = true;
    return false;
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

/** Returns why a detection is not reported; null if it is. */
function suppressionOf(
  entry: Entry,
  cluster: readonly Entry[],
  byRule: ReadonlyMap<string, readonly Entry[]>,
): Suppression | null {
  const { rule, detection } = entry;
  if (rule.rule.skip_report) return { by: 'skip_report' };
  const preferred = cluster.length === 1 ? undefined : cluster.find((other) => isPreferred(other, entry));
  if (preferred !== undefined) return { by: 'other_rule', rule_id: preferred.rule.rule.id };
  const missing = rule.rule.required.find(
    (required) => byRule.get(required.id)?.some((other) => isNear(detection, other.detection, required)) !== true,
  );
  return missing === undefined ? null : { by: 'required_rule', rule_id: missing.id };
}

/** Returns whether another detection of the same secret is reported instead of this one. */
function isPreferred(other: Entry, entry: Entry): boolean {
  const { rule, detection } = entry;
  const isBetterKnown = !other.rule.generic && (rule.generic || (rule.rule.by_name === true && goesFirst(other, rule)));
  const isBetterJudged = rule.rule.judged && other.rule.rule.judged && isSurer(other, entry);
  return findsFirst(other, entry) || ((isBetterKnown || isBetterJudged) && isSameSecret(detection, other.detection));
}

/** Of specific rules that find one value at one place, the surest reports it, of equal ones the first by id. */
function findsFirst(one: Entry, other: Entry): boolean {
  const { skip_report, required } = one.rule.rule;
  if (!isSpecific(one) || !isSpecific(other) || skip_report || required.length > 0) return false;
  return one.detection.secret === other.detection.secret && isNested(one, other) && isSurer(one, other);
}

/** Returns whether a rule recognizes the value itself. */
function isSpecific({ rule }: Entry): boolean {
  return !rule.generic && rule.rule.by_name !== true;
}

function isNested(one: Entry, other: Entry): boolean {
  const [starts, ends] = [one.detection.offset - other.detection.offset, endOf(one) - endOf(other)];
  return (starts <= 0 && ends >= 0) || (starts >= 0 && ends <= 0);
}

/** Returns whether the confidence, or else the order of ids, prefers the first of two rules. */
function isSurer(one: Entry, other: Entry): boolean {
  if (one.rule === other.rule) return false;
  const lead = CONFIDENCES.indexOf(one.detection.confidence) - CONFIDENCES.indexOf(other.detection.confidence);
  return lead > 0 || (lead === 0 && one.rule.rule.id < other.rule.rule.id);
}

/** Of rules that go by names, the one with the first id reports a secret. */
function goesFirst({ rule: other }: Entry, rule: CompiledRule): boolean {
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
