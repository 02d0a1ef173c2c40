import type { Encoding } from '../result.ts';
import type { JudgedPlace, Verdict } from './judge/judge.ts';
import type { Candidate } from './matches.ts';
import type { DetectionPlan, ScannedChunk } from './plan.ts';
import type { Detection } from './port.ts';
import type { AllowlistSubject, CompiledAllowlist } from './rules/compiled-allowlist.ts';
import type { CompiledRule } from './rules/compiled-rule.ts';

/** What exempts a finding: a comment on its line, or an allow list. */
export type Exemption = { comment: string } | { list: CompiledAllowlist; subject: AllowlistSubject };

/**
 * Why a detection is not reported: its rule only serves others, another rule reports the same secret, or one that it
 * requires found nothing near.
 */
export type Suppression =
  { by: 'skip_report' } | { by: 'other_rule'; rule_id: string } | { by: 'required_rule'; rule_id: string };

/** A decoded piece: its source in the searched bytes, and its text in the scanner's memory. */
export interface DecodedText {
  start: number;
  end: number;
  encodings: readonly Encoding[];
  address: number;
  length: number;
}

/** Observes the detection in one object: a call for each chunk, piece, match and decision, none for each byte. */
export interface DetectionTrace {
  /** These bytes are searched next. */
  chunk(chunk: ScannedChunk): void;
  decoded(text: DecodedText): void;
  /** A match did not pass the checks of its rule. */
  refused(candidate: Candidate, encodings: readonly Encoding[]): void;
  /** A match was judged; without a verdict it is no secret. */
  judged(candidate: Candidate, encodings: readonly Encoding[], place: JudgedPlace, verdict: Verdict | null): void;
  exempted(candidate: Candidate, exemption: Exemption): void;
  /** The candidate became a detection. */
  detected(candidate: Candidate, detection: Detection): void;
  /** All other detections of the same text are known. */
  settled(detection: Detection, suppression: Suppression | null): void;
  /** The object is scanned. */
  end(): void;
}

export interface Tracer {
  /**
   * Returns the trace of an object; null leaves the object out of the scan.
   * @param applies whether a rule looks at it; null if an allow list exempts the whole object
   */
  begin(path: string, plan: DetectionPlan, applies: ((rule: CompiledRule) => boolean) | null): DetectionTrace | null;
}
