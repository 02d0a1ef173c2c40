import type { Encoding } from '../result.ts';
import { type EncodedState, EncodedText, encodedStateAt } from './decode/encoded-text.ts';
import type { Utf16 } from './decode/utf16.ts';
import { EncodedSearch } from './encoded-search.ts';
import { companionsOf } from './companions.ts';
import { Layer, type LayerState, layerStateAt, type ObjectGate } from './layer.ts';
import { LineIndex, type LineState, lineStateAt } from './line-index.ts';
import type { SurroundingText } from './match-contexts.ts';
import type { MatchSink } from './match-sink.ts';
import { type Candidate, decodeUtf8 } from './matches.ts';
import { judge, type JudgedPlace } from './judge/judge.ts';
import { type DetectionPlan, LINE_CONTEXT, type ScannedChunk, STRUCTURE_BEFORE } from './plan.ts';
import type { Detection } from './port.ts';
import type { CompiledRule } from './rules/compiled-rule.ts';
import { keyPathOf, type StructureFormat, structureOf } from './structure/key-path.ts';
import type { DetectionTrace, Exemption } from './trace.ts';

/** The context in which one object is scanned. */
export interface ObjectContext {
  plan: DetectionPlan;
  gate: ObjectGate;
  /** Bytes as latin1. */
  path: string;
  commit: string | undefined;
  inlineIgnores: boolean;
  /** Whether secrets will be verified: what that needs besides them is collected. */
  verifies: boolean;
  /** Memory for decoded pieces, one per nested encoding level. */
  scratch: readonly number[];
  /** Observes what happens to each match; null in a scan. */
  trace: DetectionTrace | null;
  /** For an object encoded as a whole: its encoding, and the source bytes per decoded byte. */
  whole?: { encoding: Encoding; unit_bytes: number };
}

type Judged = Pick<Detection, 'confidence' | 'confidence_reason' | 'key_path' | 'key_name' | 'companions'>;

/** Comments that exempt their line. */
const INLINE_IGNORES = ['heddle:allow', 'gitleaks:allow'];

/** Returns the context of an object that is encoded as a whole, which costs one level of decoding. */
export function encodedContext(context: ObjectContext, utf16: Utf16 | null): ObjectContext {
  if (utf16 === null) return context;
  return { ...context, scratch: context.scratch.slice(1), whole: { encoding: utf16, unit_bytes: 2 } };
}

/**
 * What the bytes before a position leave behind: with the same state, two scans find the same from there on. Plain data
 * that crosses threads.
 */
export interface ScanState {
  layer: LayerState;
  /** Null if nothing is decoded. */
  encoded: EncodedState | null;
  lines: LineState;
}

/** Returns the state of a scan that begins at an offset; its lines are counted from there. */
export function scanStateAt(offset: number, { plan, scratch }: Pick<ObjectContext, 'plan' | 'scratch'>): ScanState {
  return {
    layer: layerStateAt(offset, plan),
    encoded: scratch.length > 0 ? encodedStateAt(offset) : null,
    lines: lineStateAt(offset),
  };
}

/** Scans the plain bytes of one object and locates its findings in lines. */
export class ObjectScan {
  readonly #context: ObjectContext;
  readonly #layer: Layer;
  readonly #encoded: { text: EncodedText; search: EncodedSearch } | null;
  readonly #lines: LineIndex;
  readonly #sink: MatchSink;
  /** Undefined until a finding asks for it. */
  #format: StructureFormat | null | undefined;
  #chunk: ScannedChunk = { address: 0, length: 0, base_offset: 0, last: false };

  constructor(context: ObjectContext, sink: MatchSink, from: ScanState = scanStateAt(0, context)) {
    this.#context = context;
    this.#sink = sink;
    this.#layer = new Layer(context.plan, context.gate, (candidate) => this.#accept(candidate, []), from.layer);
    this.#lines = new LineIndex(context.plan.scanner, from.lines);
    this.#encoded = from.encoded === null ? null : this.#encodedSearch(context, from.encoded);
  }

  #encodedSearch(
    { plan, gate, scratch, trace }: ObjectContext,
    from: EncodedState,
  ): { text: EncodedText; search: EncodedSearch } {
    const accept = this.#accept.bind(this);
    return {
      text: new EncodedText(plan.scanner, from),
      search: new EncodedSearch({ plan, gate, scratch, accept, trace }),
    };
  }

  /** After everything that was fed. */
  get state(): ScanState {
    return { layer: this.#layer.state, encoded: this.#encoded?.text.state ?? null, lines: this.#lines.state };
  }

  feed(chunk: ScannedChunk): void {
    this.#chunk = chunk;
    this.#lines.enter(chunk);
    this.#context.trace?.chunk(chunk);
    this.#layer.feed(chunk);
    if (this.#encoded !== null) {
      const shift = chunk.address - chunk.base_offset;
      // The rest of the line after a piece must be available too.
      const length = chunk.last ? chunk.length : Math.max(0, chunk.length - LINE_CONTEXT);
      for (const piece of this.#encoded.text.feed({ ...chunk, length }, chunk.length - length))
        this.#encoded.search.search(piece, shift);
    }
    const settled = Math.max(0, this.#layer.frontier - this.#context.plan.before);
    this.#lines.leave(settled);
    this.#sink.settle(chunk.last ? Infinity : settled);
  }

  #accept(candidate: Candidate, encodings: readonly Encoding[]): void {
    const { trace } = this.#context;
    if (candidate.refusal !== null) {
      trace?.refused(candidate, encodings);
      return;
    }
    // Judging takes far longer than matching, and nothing more of this object is reported.
    if (this.#sink.isFull && trace === null) return;
    const place = this.#placeOf(candidate, encodings);
    const verdict = judge(candidate, place);
    trace?.judged(candidate, encodings, place, verdict);
    if (verdict === null) return;
    const around = this.#textAround(candidate.start, candidate.end);
    this.#sink.secret(candidate, encodings.length > 0);
    const exemption = this.#exemptionOf(candidate, linesOf(candidate, around));
    if (exemption !== null) {
      trace?.exempted(candidate, exemption);
      return;
    }
    const detection = this.#detection(candidate, encodings, {
      ...verdict,
      ...place.key,
      ...this.#companions(candidate, place),
    });
    trace?.detected(candidate, detection);
    this.#sink.detection(candidate.rule, detection, candidate, around);
  }

  #companions(candidate: Candidate, { text, at }: JudgedPlace): Pick<Detection, 'companions'> {
    const { rule } = candidate.rule;
    if (!this.#context.verifies || typeof rule.verify !== 'object' || rule.verify.companions.length === 0) return {};
    return { companions: companionsOf(candidate, text, at) };
  }

  /** Returns what exempts a candidate; null if nothing does. */
  #exemptionOf({ rule, match, secret }: Candidate, line: string): Exemption | null {
    const { plan, path, commit, inlineIgnores } = this.#context;
    const comment = inlineIgnores ? INLINE_IGNORES.find((each) => line.includes(each)) : undefined;
    if (comment !== undefined) return { comment };
    const subject = { path, commit, secret, match, line };
    const allows = (list: CompiledRule['allowlists'][number]): boolean => list.allowsFinding(subject);
    const list = rule.allowlists.find(allows) ?? plan.allowlists.find(allows);
    return list === undefined ? null : { list, subject };
  }

  /** Returns what surrounds a candidate, and the keys that lead to it. */
  #placeOf({ start, end, secret_at, match }: Candidate, encodings: readonly Encoding[]): JudgedPlace {
    const { address, base_offset, length } = this.#chunk;
    const shift = address - base_offset;
    const from = Math.max(start - STRUCTURE_BEFORE, base_offset);
    const to = Math.min(end + LINE_CONTEXT, base_offset + length);
    const text = this.#context.plan.scanner.bytes.toString('latin1', from + shift, to + shift);
    // Decoded text has no place of its own: that of the encoded text counts.
    const isPlain = encodings.length === 0;
    const at = start - from + (isPlain ? secret_at : 0);
    if (this.#format === undefined) this.#format = structureOf(this.#context.path);
    const key = keyPathOf(text, at, { format: this.#format, isWhole: from === 0 });
    return {
      path: this.#context.path,
      text: isPlain ? text : match,
      at: isPlain ? at : secret_at,
      key,
      prefixes: this.#context.plan.prefixes,
    };
  }

  /**
   * Returns a match with `LINE_CONTEXT` bytes on either side of it, or up to where its object begins or ends: every
   * chunk that decides a match holds them.
   */
  #textAround(start: number, end: number): SurroundingText {
    const { address, base_offset, length, last } = this.#chunk;
    const { bytes } = this.#context.plan.scanner;
    const shift = address - base_offset;
    const from = Math.max(start - LINE_CONTEXT, base_offset);
    const to = Math.min(end + LINE_CONTEXT, base_offset + length);
    const text = bytes.toString('latin1', from + shift, to + shift);
    return { text, start: from, isEnd: last && end + LINE_CONTEXT > to };
  }

  #detection(candidate: Candidate, encodings: readonly Encoding[], judged: Judged): Detection {
    const { rule, start, end } = candidate;
    const from = this.#lines.place(start);
    const to = this.#lines.place(end);
    const unit = this.#context.whole?.unit_bytes ?? 1;
    return {
      rule_id: rule.rule.id,
      description: rule.rule.description,
      tags: rule.rule.tags,
      line: from.line,
      column: from.column,
      end_line: to.line,
      end_column: to.column,
      offset: start * unit,
      length: (end - start) * unit,
      match: decodeUtf8(candidate.match),
      secret: decodeUtf8(candidate.secret),
      entropy: candidate.entropy,
      encodings: this.#context.whole === undefined ? encodings : [this.#context.whole.encoding, ...encodings],
      ...judged,
    };
  }
}

/** Returns the lines of a match, as far as the text around it holds them. */
function linesOf({ start, end }: Candidate, around: SurroundingText): string {
  const { text } = around;
  const first = text.lastIndexOf('\n', start - around.start - 1) + 1;
  const last = text.indexOf('\n', end - around.start);
  return text.slice(start === around.start ? 0 : first, last === -1 ? undefined : last);
}
