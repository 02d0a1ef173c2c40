import { type Clock, systemClock } from '@heddle/base/clock';
import type { ScanOptions } from '../options.ts';
import type { CompiledRules } from './packed-rules.ts';
import { appliesTo, RuleGate } from './gate.ts';
import { decodeUtf8 } from './matches.ts';
import type { ObjectContext } from './object-scan.ts';
import { DetectionPlan } from './plan.ts';
import type { Staging } from './chunk-feed.ts';
import { ChunkedObject } from './chunked-object.ts';
import { ESCAPE_CONTEXT } from './decode/encoded-text.ts';
import { PIECE_BYTES } from './decode/pieces.ts';
import type { Detection, Detector, ObjectDetector, SegmentBounds, SegmentDetector } from './port.ts';
import type { CompiledRule } from './rules/compiled-rule.ts';
import { SegmentScan } from './segment-scan.ts';
import type { DetectionTrace, Tracer } from './trace.ts';

/** Limits of the buffers that `Detector.allocate` hands out. */
export interface DetectorLimits {
  buffers_max: number;
  buffer_bytes: number;
}

const NOT_ASCII = /[^\x00-\x7f]/;

/** New bytes that are copied or decoded at once. */
const STAGED_BYTES = 256 * 1024;

export type DetectorOptions = Pick<
  ScanOptions,
  'confidence' | 'decodeDepth' | 'inlineIgnores' | 'ruleTimeoutMs' | 'contextLines'
> & { verifies?: boolean };

/**
 * Creates the detector of one thread from compiled rules.
 * @param tracer chooses the objects that are scanned, and observes how each match is decided
 */
export function createDetector(
  rules: CompiledRules,
  options: DetectorOptions,
  limits: DetectorLimits,
  { clock = systemClock, tracer = null }: { clock?: Clock; tracer?: Tracer | null } = {},
): Detector {
  return new RuleSetDetector(rules, options, limits, clock, tracer);
}

function bytesOf(path: string): string {
  return NOT_ASCII.test(path) ? Buffer.from(path, 'utf8').toString('latin1') : path;
}

class RuleSetDetector implements Detector {
  readonly overlap: number;
  readonly #options: DetectorOptions;
  readonly #limits: DetectorLimits;
  readonly #clock: Clock;
  readonly #plan: DetectionPlan;
  readonly #staging: Staging;
  readonly #scratch: readonly number[];
  readonly #tracer: Tracer | null;
  #buffers = 0;

  constructor(
    rules: CompiledRules,
    options: DetectorOptions,
    limits: DetectorLimits,
    clock: Clock,
    tracer: Tracer | null,
  ) {
    this.#tracer = tracer;
    this.#options = options;
    this.#limits = limits;
    this.#clock = clock;
    const levels = options.decodeDepth;
    const buffers = limits.buffers_max * (limits.buffer_bytes + 64) + levels * (PIECE_BYTES + 64);
    const own = (overlap: number): number => overlap + STAGED_BYTES + 64;
    this.#plan = new DetectionPlan(
      rules,
      levels > 0 ? PIECE_BYTES + 2 * ESCAPE_CONTEXT : 0,
      (overlap) => buffers + own(overlap),
      { showsRefused: tracer !== null },
    );
    const { before, after, scanner } = this.#plan;
    // A UTF-16 unit has two bytes, and a chunk may begin within one.
    this.overlap = levels > 0 ? 2 * (before + after) + 2 : before + after;
    this.#staging = { address: scanner.allocate(before + after + STAGED_BYTES), new_bytes: STAGED_BYTES };
    this.#scratch = Array.from({ length: levels }, () => scanner.allocate(PIECE_BYTES));
  }

  allocate(length: number): Uint8Array {
    if (length > this.#limits.buffer_bytes || this.#buffers >= this.#limits.buffers_max) {
      throw new Error(`detector: at most ${this.#limits.buffers_max} buffers of ${this.#limits.buffer_bytes} bytes`);
    }
    this.#buffers++;
    const address = this.#plan.scanner.allocate(length);
    return new Uint8Array(this.#plan.scanner.bytes.buffer, address, length);
  }

  begin(path: string, commit?: string): ObjectDetector | null {
    const bytes = bytesOf(path);
    const object = { path: bytes, commit };
    const isAllowed = this.#plan.allowlists.some((list) => list.looksAtObjects && list.allowsObject(bytes, commit));
    const applies = isAllowed ? null : (rule: CompiledRule): boolean => appliesTo(rule, object);
    const trace = this.#tracer?.begin(path, this.#plan, applies) ?? null;
    if (isAllowed || (this.#tracer !== null && trace === null)) return null;
    const byPath = this.#detectPath(bytes, commit);
    if (byPath.length === 0 && !this.#plan.hasRuleFor((rule) => appliesTo(rule, object))) return null;
    const { confidence, contextLines } = this.#options;
    const { context, gate } = this.#contextOf(object, trace);
    return new ChunkedObject(context, gate, this.#staging, { byPath, confidence, contextLines });
  }

  beginSegment({ path, commit }: { path: string; commit?: string }, bounds: SegmentBounds): SegmentDetector {
    const { context, gate } = this.#contextOf({ path: bytesOf(path), commit }, null);
    return new SegmentScan(context, gate, this.#staging, bounds);
  }

  #contextOf(
    object: { path: string; commit: string | undefined },
    trace: DetectionTrace | null,
  ): { context: ObjectContext; gate: RuleGate } {
    const gate = new RuleGate(object, this.#clock, this.#options.ruleTimeoutMs);
    const { inlineIgnores, verifies = false } = this.#options;
    const shared = { plan: this.#plan, gate, inlineIgnores, verifies, scratch: this.#scratch, trace };
    return { context: { ...object, ...shared }, gate };
  }

  /** Applies path-only rules; their findings are placed at the object's beginning. */
  #detectPath(path: string, commit: string | undefined): Detection[] {
    const rules = this.#plan.pathRules.filter(
      (each) =>
        !each.rule.skip_report &&
        each.path.test(path) &&
        !each.allowlists.some((list) => list.allowsObject(path, commit)),
    );
    return rules.map(({ rule }) => ({
      rule_id: rule.id,
      description: rule.description,
      tags: rule.tags,
      line: 1,
      column: 1,
      end_line: 1,
      end_column: 1,
      offset: 0,
      length: 0,
      match: decodeUtf8(path),
      secret: '',
      entropy: 0,
      encodings: [],
      confidence: rule.confidence ?? 'medium',
      confidence_reason: rule.confidence === undefined ? 'the path alone matches the rule' : 'the rule says so',
    }));
  }
}
