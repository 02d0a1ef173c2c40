import { FILTER_SPAN_MAX } from './regex/anchor.ts';
import type { CompiledRegex, RegexMatch } from './regex/compiled-regex.ts';
import { UNDECIDED } from './regex/look-ahead.ts';
import type { CompiledRule } from './rules/compiled-rule.ts';
import { BLOCK_STARTS } from './rules/rule-plan.ts';
import { areWords } from './judge/shapes.ts';
import { type Candidate, candidateOf } from './matches.ts';
import type { DetectionPlan, Probe, ScannedChunk } from './plan.ts';

/** Starts for which one filter string is decoded. */
const SEGMENT_BYTES = 1024;

/** State shared by the layers of one object. */
export interface ObjectGate {
  /** Returns false if the rule does not apply, or no longer applies, to this object. */
  applies(rule: CompiledRule): boolean;
  /** Runs one search of a rule and charges its time to it. */
  timed<T>(rule: CompiledRule, search: () => T): T;
}

/** What the bytes before a position leave behind: how far the text is searched, by rule. Plain data. */
export interface LayerState {
  frontier: number;
  block: number;
  /** Number of a rule, and an offset. */
  matched_to: [number, number][];
  searched_to: [number, number][];
}

const LAYER_START: LayerState = { frontier: 0, block: 0, matched_to: [], searched_to: [] };

/**
 * Searches one text, chunk after chunk. Each keyword hit is evaluated once, on the bytes from `before` in front of it
 * to `after` behind it, as soon as all of them are available, so chunk boundaries do not affect the result.
 */
export class Layer {
  readonly #plan: DetectionPlan;
  readonly #gate: ObjectGate;
  readonly #accept: (candidate: Candidate) => void;
  /** All hits that end at this offset or before it are evaluated. */
  #frontier: number;
  #block: number;
  /** By rule: the end of its last match, and where searches around keywords resume. */
  readonly #matchedTo = new Map<CompiledRule, number>();
  readonly #searchedTo = new Map<CompiledRule, number>();

  #chunk: ScannedChunk = { address: 0, length: 0, base_offset: 0, last: false };
  #segment = '';
  #segmentStart = 0;
  #segmentEnd = 0;

  constructor(
    plan: DetectionPlan,
    gate: ObjectGate,
    accept: (candidate: Candidate) => void,
    from: LayerState = LAYER_START,
  ) {
    this.#plan = plan;
    this.#gate = gate;
    this.#accept = accept;
    this.#frontier = from.frontier;
    this.#block = from.block;
    for (const [rule, to] of from.matched_to) this.#matchedTo.set(plan.ruleAt(rule), to);
    for (const [rule, to] of from.searched_to) this.#searchedTo.set(plan.ruleAt(rule), to);
  }

  get state(): LayerState {
    return {
      frontier: this.#frontier,
      block: this.#block,
      matched_to: this.#relevant(this.#matchedTo),
      searched_to: this.#relevant(this.#searchedTo),
    };
  }

  /** Returns the offsets that can still keep a match out. */
  #relevant(offsets: ReadonlyMap<CompiledRule, number>): [number, number][] {
    const least = this.#frontier - this.#plan.before;
    const relevant = [...offsets].filter(([, to]) => to > least);
    return relevant
      .map(([rule, to]): [number, number] => [this.#plan.numberOf(rule), to])
      .sort(([left], [right]) => left - right);
  }

  get frontier(): number {
    return this.#frontier;
  }

  /** Evaluates what this chunk decides. Its bytes are in the scanner's memory. */
  feed(chunk: ScannedChunk): void {
    const end = chunk.base_offset + chunk.length;
    if (chunk.base_offset > Math.max(0, this.#frontier - this.#plan.before)) {
      throw new Error(`detector: the chunk at ${chunk.base_offset} lacks the overlap before it`);
    }
    const frontier = chunk.last ? end : Math.max(this.#frontier, end - this.#plan.after);
    this.#chunk = chunk;
    this.#segmentEnd = 0;
    const shift = chunk.address - chunk.base_offset;
    const bounds = { floor: chunk.address, limit: end + shift };
    this.#plan.scanner.scan(this.#frontier + shift, frontier + shift, bounds, this.#visit);
    this.#frontier = frontier;
    if (this.#plan.everywhere.length > 0) this.#searchBlocks(end);
  }

  /** Addresses are translated once here; below, positions are offsets in the text. */
  readonly #visit = (address: number, state: number, outcome: number): void => {
    const { address: begin, base_offset, length } = this.#chunk;
    const group = this.#plan.probesAt(state, address);
    const { probes } = group;
    let outlook = this.#plan.outlook(group, address, begin + length, outcome);
    if (outlook === 0 && group.allFiltered) return;
    for (let at = 0; at < probes.length; at++) {
      const probe = probes[at]!;
      const hit = address - begin + base_offset - probe.length;
      if (!probe.filtered) {
        this.#judgeNearby(probe.rule, hit);
        continue;
      }
      if (outlook === UNDECIDED ? this.#passes(probe, hit) : (outlook & 1) === 1) this.#judge(probe, hit);
      // Stays undecided.
      outlook >>= 1;
    }
  };

  #passes(probe: Probe, hit: number): boolean {
    const filter = (probe.filter ??= probe.rule.filter());
    const text = this.#segmentAt(hit);
    filter.lastIndex = hit - this.#segmentStart;
    return filter.test(text);
  }

  /** Returns text with at least `FILTER_SPAN_MAX` bytes from a hit on, or up to the end of what may be read. */
  #segmentAt(hit: number): string {
    if (hit <= this.#segmentStart || hit >= this.#segmentEnd) this.#cutSegment(hit);
    return this.#segment;
  }

  /** Includes one more byte in front, for `\b`. */
  #cutSegment(hit: number): void {
    this.#segmentStart = Math.max(0, hit - 1);
    this.#segmentEnd = this.#segmentStart + SEGMENT_BYTES;
    this.#segment = this.#text(this.#segmentStart, this.#segmentEnd + FILTER_SPAN_MAX + 1);
  }

  /** Returns bytes as a string; a chunk that ends earlier ends the object or what the caller may read. */
  #text(from: number, to: number): string {
    const { address, base_offset, length } = this.#chunk;
    const start = Math.max(from, base_offset);
    const stop = Math.min(to, base_offset + length);
    return this.#plan.scanner.bytes.toString('latin1', start - base_offset + address, stop - base_offset + address);
  }

  /** Finds a match that begins before or at the hit and extends beyond it. */
  #judge({ rule }: Probe, hit: number): void {
    const matchedTo = this.#matchedTo.get(rule) ?? 0;
    if (matchedTo > hit || !this.#gate.applies(rule)) return;
    if (this.#matchesWords(rule, hit)) return;
    const from = Math.max(hit - rule.before, matchedTo, 0);
    if (rule.halves === null) {
      this.#searchAll(rule, from, hit, hit + rule.after);
      return;
    }
    const halves = rule.halves();
    const offset = Math.max(0, from - 1);
    const text = this.#text(offset, hit + rule.after);
    const match = this.#gate.timed(rule, () => halves.searchAt(text, from - offset, hit - offset));
    if (match !== null) this.#take(rule, text, match, offset);
  }

  /** Returns whether the value of a match is words, for which it is refused, as most assignments in code are; spares building it. */
  #matchesWords(rule: CompiledRule, hit: number): boolean {
    const value = this.#plan.showsRefused ? null : rule.value();
    if (value === null) return false;
    const { address, base_offset, length } = this.#chunk;
    const { bytes } = this.#plan.scanner;
    const text = this.#segmentAt(hit);
    const shift = address - base_offset;
    const inBytes = { bytes, shift: this.#segmentStart + shift, stop: address + length };
    return value.find(text, hit - this.#segmentStart, inBytes) && areWords(bytes, value.start, value.end);
  }

  /** Finds all matches that begin near the hit. */
  #judgeNearby(rule: CompiledRule, hit: number): void {
    if (!this.#gate.applies(rule)) return;
    const from = Math.max(hit - rule.before, this.#searchedTo.get(rule) ?? 0, this.#matchedTo.get(rule) ?? 0);
    const lastStart = hit + rule.before;
    this.#searchedTo.set(rule, lastStart + 1);
    if (from > lastStart) return;
    this.#searchAll(rule, from, lastStart, hit + rule.after);
  }

  /** Blocks start at fixed offsets and are searched once all bytes that their matches may read are available. */
  #searchBlocks(end: number): void {
    while (this.#block < end && (this.#chunk.last || this.#block + BLOCK_STARTS <= this.#frontier)) {
      const next = this.#block + BLOCK_STARTS;
      for (const rule of this.#plan.everywhere) {
        if (!this.#gate.applies(rule)) continue;
        const from = Math.max(this.#block, this.#matchedTo.get(rule) ?? 0);
        if (from < next) this.#searchAll(rule, from, next - 1, this.#block + rule.after);
      }
      this.#block = next;
    }
  }

  /** Reports the matches in `[from, to)` that begin no later than `lastStart`; none begins within another. */
  #searchAll(rule: CompiledRule, from: number, lastStart: number, to: number): void {
    const offset = Math.max(0, from - 1);
    const text = this.#text(offset, to);
    const found = this.#gate.timed(rule, () => matchesIn(rule.regex, text, from - offset, lastStart - offset));
    for (const match of found) this.#take(rule, text, match, offset);
  }

  #take(rule: CompiledRule, text: string, match: RegexMatch, offset: number): void {
    const end = offset + match.end;
    if (rule.each !== null) {
      this.#matchedTo.set(rule, end);
      this.#takeEach(rule, rule.each, text.slice(match.start, match.end), offset + match.start);
      return;
    }
    const candidate = candidateOf(rule, text, match, offset);
    if (!this.#isOfWords(candidate)) this.#matchedTo.set(rule, end);
    this.#accept(candidate);
  }

  /** Returns whether it would be passed over, or left out by a look-ahead: then it is in the way of no other match. */
  #isOfWords({ rule, refusal, start, secret_at, secret }: Candidate): boolean {
    if (refusal !== 'form' || rule.value() === null) return false;
    const from = start + secret_at + this.#chunk.address - this.#chunk.base_offset;
    return areWords(this.#plan.scanner.bytes, from, from + secret.length);
  }

  /** The match is a block that contains any number of secrets. */
  #takeEach(rule: CompiledRule, each: CompiledRegex, block: string, offset: number): void {
    for (const match of this.#gate.timed(rule, () => matchesIn(each, block, 0, block.length))) {
      this.#accept(candidateOf(rule, block, match, offset));
    }
  }
}

/** Returns successive matches, from `from` on, that begin no later than `lastStart`. */
function matchesIn(regex: CompiledRegex, text: string, from: number, lastStart: number): RegexMatch[] {
  const matches: RegexMatch[] = [];
  for (let at = from; at <= text.length;) {
    const match = regex.search(text, at, lastStart);
    if (match === null) break;
    if (match.end > match.start) matches.push(match);
    at = Math.max(match.end, match.start + 1);
  }
  return matches;
}

/** Returns the state at an offset before which nothing is known; matches near it may be missed. */
export function layerStateAt(offset: number, plan: DetectionPlan): LayerState {
  if (offset === 0) return LAYER_START;
  const block = plan.everywhere.length === 0 ? 0 : Math.ceil((offset + 1) / BLOCK_STARTS) * BLOCK_STARTS;
  return { ...LAYER_START, frontier: offset + plan.before, block };
}
