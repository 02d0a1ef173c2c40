import { type Clock, systemClock } from '../../runtime/clock.ts';
import type { DetectionOptions } from '../options.ts';
import { RuleGate, rulesOut } from './gate.ts';
import { type ObjectContext, ObjectScan, decodeUtf8 } from './object-scan.ts';
import { PendingDetections } from './pending.ts';
import { DetectionPlan } from './plan.ts';
import type { Chunk, Detection, Detector, ObjectDetector } from './port.ts';
import { loadRules } from './rules/load-rules.ts';

/** Buffers that `Detector.allocate` may be asked for. */
export interface DetectorLimits {
  buffers_max: number;
  buffer_bytes: number;
}

/** New bytes that are copied at once from a buffer outside of the detector's memory. */
const COPIED_BYTES = 256 * 1024;

/** Bytes that windows of encoded text and of rules over lines need at least. */
const AFTER_MIN = 16 * 1024;

/** Compiles the rules. Throws HeddleError where a rule set cannot be used; says which rule, which field, and why. */
export function createDetector(
  options: DetectionOptions,
  limits: DetectorLimits,
  clock: Clock = systemClock,
): Detector & { readonly warnings: readonly string[] } {
  return new RuleSetDetector(options, limits, clock);
}

class RuleSetDetector implements Detector {
  readonly overlap: number;
  readonly warnings: readonly string[];
  readonly #options: DetectionOptions;
  readonly #limits: DetectorLimits;
  readonly #clock: Clock;
  readonly #plan: DetectionPlan;
  readonly #staging: number;
  #buffers = 0;

  constructor(options: DetectionOptions, limits: DetectorLimits, clock: Clock) {
    this.#options = options;
    this.#limits = limits;
    this.#clock = clock;
    const buffers = limits.buffers_max * (limits.buffer_bytes + 64);
    const own = (overlap: number): number => 2 * overlap + COPIED_BYTES + 64;
    this.#plan = new DetectionPlan(loadRules(options), AFTER_MIN, (overlap) => buffers + own(overlap));
    this.overlap = this.#plan.before + this.#plan.after;
    this.warnings = this.#plan.warnings;
    this.#staging = this.#plan.scanner.allocate(2 * this.overlap + COPIED_BYTES);
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
    const bytes = Buffer.from(path, 'utf8').toString('latin1');
    const out = rulesOut(this.#plan, bytes, commit);
    if (out === null) return null;
    const byPath = this.#detectPath(bytes, commit);
    if (this.#plan.rules.length === out.size && byPath.length === 0) return null;
    const gate = new RuleGate(out, this.#clock, this.#options.rule_timeout_ms);
    const inline_ignores = this.#options.inline_ignores;
    const context: ObjectContext = { plan: this.#plan, gate, path: bytes, commit, inline_ignores };
    return new ChunkedObject(context, gate, this.#staging, byPath);
  }

  /** Rules of paths only: what they find stands at the object's beginning. */
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
    }));
  }
}

/** Brings chunks of any size and any memory before the scan of one object. */
class ChunkedObject implements ObjectDetector {
  readonly #context: ObjectContext;
  readonly #gate: RuleGate;
  readonly #staging: number;
  readonly #pending: PendingDetections;
  readonly #scan: ObjectScan;
  #byPath: Detection[];

  constructor(context: ObjectContext, gate: RuleGate, staging: number, byPath: Detection[]) {
    this.#context = context;
    this.#gate = gate;
    this.#staging = staging;
    this.#byPath = byPath;
    this.#pending = new PendingDetections(context.plan.hasRequired);
    this.#scan = new ObjectScan(context, this.#pending);
  }

  get timed_out_rules(): readonly string[] {
    return this.#gate.timedOut;
  }

  get detections_dropped(): number {
    return this.#pending.dropped;
  }

  scan(chunk: Chunk): Detection[] {
    const { bytes, length, base_offset, last } = chunk;
    if (bytes.buffer === this.#context.plan.scanner.bytes.buffer) {
      this.#scan.feed({ address: bytes.byteOffset, length, base_offset, last });
    } else this.#copied(chunk);
    const found = [...this.#byPath, ...this.#pending.take()];
    this.#byPath = [];
    return found;
  }

  /** Piece by piece, each with the overlap before it. */
  #copied({ bytes, length, prefix_length, base_offset, last }: Chunk): void {
    const { plan } = this.#context;
    const overlap = plan.before + plan.after;
    let from = prefix_length;
    do {
      const to = Math.min(length, from + COPIED_BYTES);
      const first = Math.max(0, from - overlap);
      plan.scanner.bytes.set(bytes.subarray(first, to), this.#staging);
      const piece = { address: this.#staging, length: to - first, base_offset: base_offset + first };
      this.#scan.feed({ ...piece, last: last && to === length });
      from = to;
    } while (from < length);
  }
}
