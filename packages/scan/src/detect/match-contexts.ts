import { redactSecret, tokensIn } from '../report/redact.ts';
import type { ContextLine } from '../result.ts';
import { linesOf, type Mask, merged } from './context-lines.ts';
import type { MatchedText } from './match-sink.ts';
import { decodeUtf8 } from './matches.ts';
import { LINE_CONTEXT } from './plan.ts';
import type { Detection } from './port.ts';

/** Only the first detections of an object have a context, so that its memory is bounded. */
const CONTEXTS_PER_OBJECT_MAX = 1000;

/** Shorter secrets are masked only where they were found: anything else would contain them by chance. */
const REPEATED_SECRET_MIN = 4;

/** The text around a match, as latin1. */
export interface SurroundingText {
  text: string;
  /** Where it begins in the object. */
  start: number;
  /** Whether it ends with the object. */
  isEnd: boolean;
}

interface Waiting extends SurroundingText {
  detection: Detection;
  /** Bounds of the match. */
  from: number;
  to: number;
}

/** A secret in the searched bytes; `secret` is the plain one, as latin1. */
interface FoundSecret {
  start: number;
  end: number;
  secret: string;
  shown: string;
}

/**
 * Gives the detections of one object the lines around them, with all secrets masked that a rule matched there, reported
 * or not. A context is complete once nothing in it can still be found.
 */
export class MatchContexts {
  readonly #lines: number;
  #secrets: FoundSecret[] = [];
  #waiting: Waiting[] = [];
  #given = 0;

  /** @param lines before and after a match */
  constructor(lines: number) {
    this.#lines = lines;
  }

  /** Adds a match of any rule, which may turn out to be allowed. */
  addSecret({ start, end, match, secret }: MatchedText, isEncoded: boolean): void {
    if (this.#given >= CONTEXTS_PER_OBJECT_MAX) return;
    const shown = redactSecret(decodeUtf8(secret));
    const places = isEncoded ? [] : placesOf(secret, match);
    // Encoded text is masked as a whole.
    if (places.length === 0) this.#secrets.push({ start, end, secret, shown });
    for (const at of places) this.#secrets.push({ start: start + at, end: start + at + secret.length, secret, shown });
  }

  addDetection(detection: Detection, { start, end }: MatchedText, around: SurroundingText): void {
    if (this.#given >= CONTEXTS_PER_OBJECT_MAX) return;
    this.#waiting.push({ ...around, detection, from: start, to: end });
    if (this.#waiting.length >= 2 * CONTEXTS_PER_OBJECT_MAX) {
      this.#waiting = this.#waiting.sort(compareWaiting).slice(0, CONTEXTS_PER_OBJECT_MAX);
    }
  }

  /** Declares that no match before `offset` will be added, and gives the contexts that end there or before it. */
  settle(offset: number): void {
    if (this.#secrets.length === 0) return;
    const ready = this.#waiting.filter(({ start, text }) => start + text.length <= offset).sort(compareWaiting);
    if (ready.length > 0) {
      this.#waiting = this.#waiting.filter(({ start, text }) => start + text.length > offset);
      for (const each of ready) {
        if (this.#given++ >= CONTEXTS_PER_OBJECT_MAX) continue;
        const context = this.#contextOf(each);
        if (context.length > 0) each.detection.context = context;
      }
    }
    // A later match begins at the offset or after it, and its text at most this much before.
    const needed = Math.min(offset - LINE_CONTEXT, ...this.#waiting.map(({ start }) => start));
    this.#secrets = this.#secrets.filter(({ end }) => end > needed);
  }

  #contextOf({ detection, text, start, isEnd, from, to }: Waiting): ContextLine[] {
    const match = { start: from - start, end: to - start };
    const masks = this.#masksIn(text, start);
    return linesOf(this.#lines, { text, masks, match, matchLine: detection.line, isStart: start === 0, isEnd });
  }

  /** Returns what to mask in a text, in order and without overlaps. */
  #masksIn(text: string, start: number): Mask[] {
    const near = this.#secrets.filter((each) => each.start < start + text.length && each.end > start);
    const masks = near.map((each) => ({
      start: Math.max(0, each.start - start),
      end: Math.min(text.length, each.end - start),
      shown: each.shown,
    }));
    for (const [secret, { shown }] of new Map(near.map((each) => [each.secret, each]))) {
      if (secret.length < REPEATED_SECRET_MIN) continue;
      for (const at of placesOf(secret, text)) masks.push({ start: at, end: at + secret.length, shown });
    }
    return withTokens(text, merged(masks));
  }
}

/** Returns where a secret begins in a text, each time that it occurs. */
function placesOf(secret: string, text: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + secret.length)) places.push(at);
  return places;
}

/** Adds what looks like a secret between the known ones. */
function withTokens(text: string, known: readonly Mask[]): Mask[] {
  const masks: Mask[] = [];
  let from = 0;
  for (const mask of [...known, null]) {
    const between = text.slice(from, mask?.start);
    for (const { start, end, shown } of tokensIn(between)) masks.push({ start: from + start, end: from + end, shown });
    if (mask === null) break;
    masks.push(mask);
    from = mask.end;
  }
  return masks;
}

function compareWaiting({ detection: left }: Waiting, { detection: right }: Waiting): number {
  if (left.offset !== right.offset) return left.offset - right.offset;
  if (left.rule_id !== right.rule_id) return left.rule_id < right.rule_id ? -1 : 1;
  return left.length - right.length;
}
