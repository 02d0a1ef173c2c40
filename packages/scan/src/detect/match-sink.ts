import { type Confidence, isAtLeast } from '@heddle/base/vocabulary/confidence';
import { MatchContexts, type SurroundingText } from './match-contexts.ts';
import type { Candidate } from './matches.ts';
import { PendingDetections } from './pending.ts';
import { LINE_CONTEXT } from './plan.ts';
import type { Detection } from './port.ts';
import type { CompiledRule } from './rules/compiled-rule.ts';
import type { DetectionTrace } from './trace.ts';

/** The parts of a match that its context needs. */
export type MatchedText = Pick<Candidate, 'start' | 'end' | 'match' | 'secret'>;

/** Receives the matches of one object as they are found. */
export interface MatchSink {
  /** True once further matches change nothing. */
  readonly isFull: boolean;
  /** A rule matched; the match may turn out to be allowed. */
  secret(text: MatchedText, isEncoded: boolean): void;
  detection(rule: CompiledRule, detection: Detection, text: MatchedText, around: SurroundingText): void;
  /** No match before `offset` follows; Infinity at the end of the object. */
  settle(offset: number): void;
}

interface SinkOptions {
  waitForEnd: boolean;
  confidence: Confidence;
  contextLines: number;
  trace: DetectionTrace | null;
}

/** Returns the detections of one object in order, each with the lines around it. */
export class ObjectMatches implements MatchSink {
  readonly #pending: PendingDetections;
  readonly #contexts: MatchContexts | null;
  readonly #confidence: Confidence;
  /** Source bytes per searched byte. */
  unitBytes = 1;

  constructor({ waitForEnd, confidence, contextLines, trace }: SinkOptions) {
    this.#confidence = confidence;
    this.#pending = new PendingDetections(waitForEnd, confidence, trace);
    this.#contexts = contextLines === 0 ? null : new MatchContexts(contextLines);
  }

  get isFull(): boolean {
    return this.#pending.isFull;
  }

  secret(text: MatchedText, isEncoded: boolean): void {
    this.#contexts?.addSecret(text, isEncoded);
  }

  detection(rule: CompiledRule, detection: Detection, text: MatchedText, around: SurroundingText): void {
    // What another thread found in a segment counts no more than what this one would have.
    if (this.isFull) return;
    if (isAtLeast(detection.confidence, this.#confidence)) this.#contexts?.addDetection(detection, text, around);
    this.#pending.add(rule, detection);
  }

  /** Detections leave with their contexts, which are complete once their last byte is settled. */
  settle(offset: number): void {
    this.#contexts?.settle(offset);
    const complete = this.#contexts === null ? offset : offset - LINE_CONTEXT;
    this.#pending.settle(complete * this.unitBytes);
  }

  /** Returns the detections that became certain since the last call. */
  take(): Detection[] {
    return this.#pending.take();
  }
}
