import { FILTER_SPAN_MAX } from './regex/anchor.ts';
import type { CompiledRegex, RegexMatch } from './regex/compiled-regex.ts';
import type { CompiledRule } from './rules/compiled-rule.ts';
import { BLOCK_STARTS } from './rules/rule-plan.ts';
import { type Candidate, candidateOf } from './matches.ts';
import type { DetectionPlan, Probe, ScannedChunk } from './plan.ts';

/** Starts that one string for filters serves. */
const SEGMENT_BYTES = 4096;

/** What the layers of one object share. */
export interface ObjectGate {
  /** False where the rule does not apply to this object, or no more. */
  applies(rule: CompiledRule): boolean;
  /** Runs one search of a rule and charges its time to it. */
  timed<T>(rule: CompiledRule, search: () => T): T;
}

/**
 * Searches one text, chunk after chunk. Each hit of a keyword is judged once, on the bytes from `before` in front of it
 * to `after` behind it, when all of them are there: so it does not matter where the chunks were cut.
 */
export class Layer {
  readonly #plan: DetectionPlan;
  readonly #gate: ObjectGate;
  readonly #accept: (candidate: Candidate) => void;
  /** All hits that end at this offset or before it are judged. */
  #frontier = 0;
  #block = 0;
  /** By rule: the end of its last match, and where searches around keywords go on. */
  readonly #matchedTo = new Map<CompiledRule, number>();
  readonly #searchedTo = new Map<CompiledRule, number>();

  #chunk: ScannedChunk = { address: 0, length: 0, base_offset: 0, last: false };
  #segment = '';
  #segmentStart = 0;
  #segmentEnd = 0;

  constructor(plan: DetectionPlan, gate: ObjectGate, accept: (candidate: Candidate) => void) {
    this.#plan = plan;
    this.#gate = gate;
    this.#accept = accept;
  }

  get frontier(): number {
    return this.#frontier;
  }

  /** Judges what this chunk decides. Its bytes stand in the scanner's memory. */
  feed(chunk: ScannedChunk): void {
    const end = chunk.base_offset + chunk.length;
    if (chunk.base_offset > Math.max(0, this.#frontier - this.#plan.before)) {
      throw new Error(`detector: the chunk at ${chunk.base_offset} comes without the overlap before it`);
    }
    const frontier = chunk.last ? end : Math.max(this.#frontier, end - this.#plan.after);
    this.#chunk = chunk;
    this.#segmentEnd = 0;
    const shift = chunk.address - chunk.base_offset;
    this.#plan.scanner.scan(this.#frontier + shift, frontier + shift, chunk.address, this.#visit);
    this.#frontier = frontier;
    if (this.#plan.everywhere.length > 0) this.#searchBlocks(end);
  }

  /** Addresses are translated once here; below, places are offsets in the text. */
  readonly #visit = (address: number, state: number): void => {
    const { base_offset } = this.#chunk;
    const probes = this.#plan.probesAt(state);
    const end = address - this.#chunk.address + base_offset;
    for (let at = 0; at < probes.length; at++) {
      const probe = probes[at]!;
      const hit = end - probe.length;
      if (!probe.filtered) this.#judgeNearby(probe.rule, hit);
      else if (this.#passes((probe.filter ??= makeFilter(probe.rule)), hit)) this.#judge(probe, hit);
    }
  };

  #passes(filter: RegExp, hit: number): boolean {
    if (hit <= this.#segmentStart || hit >= this.#segmentEnd) this.#cutSegment(hit);
    filter.lastIndex = hit - this.#segmentStart;
    return filter.test(this.#segment);
  }

  /** One byte more in front, for `\b`. */
  #cutSegment(hit: number): void {
    this.#segmentStart = Math.max(0, hit - 1);
    this.#segmentEnd = this.#segmentStart + SEGMENT_BYTES;
    this.#segment = this.#text(this.#segmentStart, this.#segmentEnd + FILTER_SPAN_MAX + 1);
  }

  /** Bytes as a string; where the chunk ends earlier, so does the object or what the caller may see. */
  #text(from: number, to: number): string {
    const { address, base_offset, length } = this.#chunk;
    const start = Math.max(from, base_offset);
    const stop = Math.min(to, base_offset + length);
    return this.#plan.scanner.bytes.toString('latin1', start - base_offset + address, stop - base_offset + address);
  }

  /** A match that begins before or at the hit and reaches beyond it. */
  #judge({ rule }: Probe, hit: number): void {
    const matchedTo = this.#matchedTo.get(rule) ?? 0;
    if (matchedTo > hit || !this.#gate.applies(rule)) return;
    const from = Math.max(hit - rule.before, matchedTo, 0);
    if (rule.halves === null) {
      this.#searchAll(rule, from, hit, hit + rule.after);
      return;
    }
    const offset = Math.max(0, from - 1);
    const text = this.#text(offset, hit + rule.after);
    const halves = rule.halves();
    const match = this.#gate.timed(rule, () => halves.searchAt(text, from - offset, hit - offset));
    if (match !== null) this.#take(rule, text, match, offset);
  }

  /** All matches that begin near the hit. */
  #judgeNearby(rule: CompiledRule, hit: number): void {
    if (!this.#gate.applies(rule)) return;
    const from = Math.max(hit - rule.before, this.#searchedTo.get(rule) ?? 0, this.#matchedTo.get(rule) ?? 0);
    const lastStart = hit + rule.before;
    this.#searchedTo.set(rule, lastStart + 1);
    if (from > lastStart) return;
    this.#searchAll(rule, from, lastStart, hit + rule.after);
  }

  /** Blocks stand at fixed offsets and are searched when all that their matches may look at is there. */
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

  /** Takes the matches in `[from, to)` that begin no later than `lastStart`; none begins within another. */
  #searchAll(rule: CompiledRule, from: number, lastStart: number, to: number): void {
    const offset = Math.max(0, from - 1);
    const text = this.#text(offset, to);
    const found = this.#gate.timed(rule, () => matchesIn(rule.regex, text, from - offset, lastStart - offset));
    for (const match of found) this.#take(rule, text, match, offset);
  }

  #take(rule: CompiledRule, text: string, match: RegexMatch, offset: number): void {
    this.#matchedTo.set(rule, offset + match.end);
    if (rule.each !== null) {
      this.#takeEach(rule, rule.each, text.slice(match.start, match.end), offset + match.start);
      return;
    }
    const candidate = candidateOf(rule, text, match, offset);
    if (candidate !== null) this.#accept(candidate);
  }

  /** The match is a block that holds any number of secrets. */
  #takeEach(rule: CompiledRule, each: CompiledRegex, block: string, offset: number): void {
    for (const match of this.#gate.timed(rule, () => matchesIn(each, block, 0, block.length))) {
      const candidate = candidateOf(rule, block, match, offset);
      if (candidate !== null) this.#accept(candidate);
    }
  }
}

/** Matches one after another, from `from` on, that begin no later than `lastStart`. */
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

function makeFilter({ placement }: CompiledRule): RegExp {
  if (placement.type !== 'anchored') throw new Error('layer: only an anchored rule has a filter');
  return new RegExp(placement.filter, 'y');
}
