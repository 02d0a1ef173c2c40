import type { Encoding } from '../result.ts';
import { EncodedText } from './decode/encoded-text.ts';
import { EncodedSearch } from './encoded-search.ts';
import { Layer, type ObjectGate } from './layer.ts';
import { LineIndex } from './line-index.ts';
import type { Candidate } from './matches.ts';
import type { PendingDetections } from './pending.ts';
import { judge, type JudgedPlace } from './judge/judge.ts';
import { type DetectionPlan, LINE_CONTEXT, type ScannedChunk, STRUCTURE_BEFORE } from './plan.ts';
import type { Detection } from './port.ts';
import type { CompiledRule } from './rules/compiled-rule.ts';
import { keyPathOf, type StructureFormat, structureOf } from './structure/key-path.ts';

/** The context in which one object is scanned. */
export interface ObjectContext {
  plan: DetectionPlan;
  gate: ObjectGate;
  /** Bytes as latin1. */
  path: string;
  commit: string | undefined;
  inlineIgnores: boolean;
  /** Memory for decoded pieces, one per nested encoding level. */
  scratch: readonly number[];
  /** For an object encoded as a whole: its encoding, and the source bytes per decoded byte. */
  whole?: { encoding: Encoding; unit_bytes: number };
}

type Judged = Pick<Detection, 'confidence' | 'confidence_reason' | 'key_path' | 'key_name'>;

/** Comments that exempt their line. */
const INLINE_IGNORES = ['heddle:allow', 'gitleaks:allow'];

/** Scans the plain bytes of one object and locates its findings in lines. */
export class ObjectScan {
  readonly #context: ObjectContext;
  readonly #layer: Layer;
  readonly #encoded: { text: EncodedText; search: EncodedSearch } | null;
  readonly #lines: LineIndex;
  readonly #pending: PendingDetections;
  /** Undefined until a finding asks for it. */
  #format: StructureFormat | null | undefined;
  #chunk: ScannedChunk = { address: 0, length: 0, base_offset: 0, last: false };

  constructor(context: ObjectContext, pending: PendingDetections) {
    this.#context = context;
    this.#pending = pending;
    this.#layer = new Layer(context.plan, context.gate, (candidate) => this.#accept(candidate, []));
    this.#lines = new LineIndex(context.plan.scanner);
    this.#encoded = context.scratch.length > 0 ? this.#encodedSearch(context) : null;
  }

  #encodedSearch({ plan, gate, scratch }: ObjectContext): { text: EncodedText; search: EncodedSearch } {
    const accept = this.#accept.bind(this);
    return { text: new EncodedText(plan.scanner), search: new EncodedSearch(plan, gate, scratch, accept) };
  }

  feed(chunk: ScannedChunk): void {
    this.#chunk = chunk;
    this.#lines.enter(chunk);
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
    this.#pending.settle(chunk.last ? Infinity : settled * (this.#context.whole?.unit_bytes ?? 1));
  }

  #accept(candidate: Candidate, encodings: readonly Encoding[]): void {
    const line = this.#lineAround(candidate.start, candidate.end);
    if (this.#isAllowed(candidate, line)) return;
    const place = this.#placeOf(candidate, encodings);
    const verdict = judge(candidate, place);
    if (verdict !== null)
      this.#pending.add(candidate.rule, this.#detection(candidate, encodings, { ...verdict, ...place.key }));
  }

  #isAllowed({ rule, match, secret }: Candidate, line: string): boolean {
    const { plan, path, commit, inlineIgnores } = this.#context;
    if (inlineIgnores && INLINE_IGNORES.some((comment) => line.includes(comment))) return true;
    const judged = { path, commit, secret, match, line };
    const allows = (list: CompiledRule['allowlists'][number]): boolean => list.allowsFinding(judged);
    return rule.allowlists.some(allows) || plan.allowlists.some(allows);
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
    this.#format ??= structureOf(this.#context.path);
    const key = keyPathOf(text, at, { format: this.#format, isWhole: from === 0 });
    return { path: this.#context.path, text: isPlain ? text : match, at: isPlain ? at : secret_at, key };
  }

  /** Returns the lines of a match, cut to `LINE_CONTEXT` bytes on either side of it. */
  #lineAround(start: number, end: number): string {
    const { address, base_offset, length } = this.#chunk;
    const { bytes } = this.#context.plan.scanner;
    const shift = address - base_offset;
    const from = Math.max(start - LINE_CONTEXT, base_offset);
    const to = Math.min(end + LINE_CONTEXT, base_offset + length);
    const text = bytes.toString('latin1', from + shift, to + shift);
    const first = text.lastIndexOf('\n', start - from - 1) + 1;
    const last = text.indexOf('\n', end - from);
    return text.slice(start === from ? 0 : first, last === -1 ? undefined : last);
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
      confidence: judged.confidence,
      confidence_reason: decodeUtf8(judged.confidence_reason),
      ...(judged.key_path === undefined ? {} : { key_path: decodeUtf8(judged.key_path) }),
      ...(judged.key_name === undefined ? {} : { key_name: decodeUtf8(judged.key_name) }),
    };
  }
}

/** Decodes latin1 bytes as UTF-8; invalid sequences become replacement characters. */
export function decodeUtf8(bytes: string): string {
  return /[^\x00-\x7f]/.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
}
