import { type Confidence, isAtLeast } from '@heddle/base/vocabulary/confidence';
import type { Encoding } from '../../result.ts';
import { type JudgedPlace, scoresOf, type Verdict } from '../judge/judge.ts';
import { type Candidate, decodeUtf8 } from '../matches.ts';
import type { DetectionPlan, ScannedChunk } from '../plan.ts';
import type { Detection } from '../port.ts';
import type { CompiledRule } from '../rules/compiled-rule.ts';
import type { DecodedText, DetectionTrace, Exemption, Suppression, Tracer } from '../trace.ts';
import type { ExplainedMatch, ExplainTarget, KeywordHit, LineExplanation, MatchOutcome } from './line-explanation.ts';

/** Bounds of an explanation. */
const LINE_BYTES_MAX = 4096;
const MATCHES_MAX = 200;
const DECODED_MAX = 20;
const DECODED_CHARACTERS_MAX = 4096;

/** Scans only the object of a line, and explains what the detection decided about that line. */
export class LineTracer implements Tracer {
  readonly #target: ExplainTarget;
  readonly #confidence: Confidence;
  readonly #done: (explanation: LineExplanation) => void;

  /** @param confidence the least that is reported */
  constructor(target: ExplainTarget, confidence: Confidence, done: (explanation: LineExplanation) => void) {
    this.#target = target;
    this.#confidence = confidence;
    this.#done = done;
  }

  begin(path: string, plan: DetectionPlan, applies: LineTraceParts['applies']): DetectionTrace | null {
    if (path !== this.#target.path) return null;
    const trace = new LineTrace({ line: this.#target.line, plan, applies, confidence: this.#confidence }, this.#done);
    if (applies === null) trace.end();
    return trace;
  }
}

interface LineTraceParts {
  line: number;
  plan: DetectionPlan;
  /** Whether a rule looks at the object; null if an allow list exempts it. */
  applies: ((rule: CompiledRule) => boolean) | null;
  confidence: Confidence;
}

/** Collects what concerns one line: everything that overlaps its bytes. */
class LineTrace implements DetectionTrace {
  readonly #parts: LineTraceParts;
  readonly #done: (explanation: LineExplanation) => void;
  /** Bytes before the line and its end; null until they are known. */
  #start: number | null;
  #end: number | null = null;
  #newlines = 0;
  #countedTo = 0;
  #size = 0;
  #text = '';
  readonly #matches: ExplainedMatch[] = [];
  #leftOut = 0;
  readonly #ofCandidate = new WeakMap<Candidate, ExplainedMatch>();
  readonly #ofDetection = new WeakMap<Detection, ExplainedMatch>();
  readonly #decoded: { encodings: readonly Encoding[]; text: string }[] = [];
  readonly #keywords = new Map<string, KeywordHit>();

  constructor(parts: LineTraceParts, done: (explanation: LineExplanation) => void) {
    this.#parts = parts;
    this.#done = done;
    this.#start = parts.line === 1 ? 0 : null;
  }

  chunk(chunk: ScannedChunk): void {
    const { address, base_offset, length } = chunk;
    this.#size = base_offset + length;
    const { bytes } = this.#parts.plan.scanner;
    const shift = address - base_offset;
    while (this.#end === null) {
      const found = bytes.subarray(0, address + length).indexOf(0x0a, Math.max(this.#countedTo, base_offset) + shift);
      if (found === -1) break;
      this.#newlines += 1;
      this.#countedTo = found - shift + 1;
      if (this.#start === null && this.#newlines === this.#parts.line - 1) this.#start = this.#countedTo;
      else if (this.#start !== null) this.#end = found - shift;
    }
    this.#readLine(chunk, shift);
  }

  /** Reads the line as soon as all of it, or as much of it as is shown, has arrived. */
  #readLine({ base_offset, length, last }: ScannedChunk, shift: number): void {
    const start = this.#start;
    const arrived = base_offset + length;
    if (start === null || this.#text !== '' || start >= arrived) return;
    const end = Math.min(this.#end ?? arrived, start + LINE_BYTES_MAX);
    if (this.#end === null && !last && end < start + LINE_BYTES_MAX) return;
    const from = Math.max(start, base_offset);
    this.#text = this.#parts.plan.scanner.bytes.toString('latin1', from + shift, end + shift);
    this.#findKeywords(from + shift, end + shift, []);
  }

  decoded({ start, end, encodings, address, length }: DecodedText): void {
    if (!this.#isOnLine(start, end) || this.#decoded.length >= DECODED_MAX) return;
    const text = this.#parts.plan.scanner.bytes.toString(
      'latin1',
      address,
      address + Math.min(length, DECODED_CHARACTERS_MAX),
    );
    this.#decoded.push({ encodings, text: decodeUtf8(text) });
    this.#findKeywords(address, address + length, encodings);
  }

  refused(candidate: Candidate, encodings: readonly Encoding[]): void {
    this.#add(candidate, encodings, candidate.refusal!, refusalReason(candidate));
  }

  judged(candidate: Candidate, encodings: readonly Encoding[], place: JudgedPlace, verdict: Verdict | null): void {
    const reason = verdict?.confidence_reason ?? 'the judge says that it is no secret';
    const match = this.#add(candidate, encodings, 'judge', reason);
    if (match === null) return;
    match.confidence = verdict?.confidence ?? null;
    if (candidate.rule.rule.judged) match.judge = scoresOf(candidate, place);
    this.#ofCandidate.set(candidate, match);
  }

  exempted(candidate: Candidate, exemption: Exemption): void {
    const match = this.#ofCandidate.get(candidate);
    if (match === undefined) return;
    if ('comment' in exemption) end(match, 'inline_comment', `the comment ${exemption.comment} exempts its line`);
    else end(match, 'allow_list', `exempt by ${exemption.list.reasonFor(exemption.subject)}`);
  }

  detected(candidate: Candidate, detection: Detection): void {
    const match = this.#ofCandidate.get(candidate);
    if (match !== undefined) this.#ofDetection.set(detection, match);
  }

  settled(detection: Detection, suppression: Suppression | null): void {
    const match = this.#ofDetection.get(detection);
    if (match === undefined) return;
    if (suppression !== null) end(match, suppression.by, suppressionReason(suppression));
    else {
      const isCertain = isAtLeast(detection.confidence, this.#parts.confidence);
      match.outcome = isCertain ? 'reported' : 'below_confidence';
    }
  }

  end(): void {
    const { plan, applies } = this.#parts;
    const exists = this.#start !== null && (this.#start < this.#size || this.#parts.line === 1);
    this.#done({
      is_exempt: applies === null,
      lines: this.#newlines + (this.#size > this.#countedTo || this.#size === 0 ? 1 : 0),
      text: exists ? decodeUtf8(this.#text).replace(/\r$/, '') : null,
      is_cut: this.#text.length === LINE_BYTES_MAX,
      matches: this.#matches,
      matches_left_out: this.#leftOut,
      decoded: this.#decoded,
      keywords: [...this.#keywords.values()],
      rules_everywhere: plan.everywhere.length,
    });
  }

  /** A line whose end has not arrived ends with what has. */
  #isOnLine(start: number, end: number): boolean {
    return this.#start !== null && end > this.#start && start <= (this.#end ?? Infinity);
  }

  #add(
    candidate: Candidate,
    encodings: readonly Encoding[],
    outcome: MatchOutcome,
    reason: string,
  ): ExplainedMatch | null {
    if (!this.#isOnLine(candidate.start, candidate.end)) return null;
    if (this.#matches.length >= MATCHES_MAX) {
      this.#leftOut += 1;
      return null;
    }
    const { rule, entropy } = candidate;
    const texts = { match: decodeUtf8(candidate.match), secret: decodeUtf8(candidate.secret) };
    const match: ExplainedMatch = {
      rule_id: rule.rule.id,
      ...texts,
      encodings,
      entropy,
      outcome,
      reason,
      confidence: null,
      judge: null,
    };
    this.#matches.push(match);
    return match;
  }

  /** Lists the rules with a keyword in these bytes of the scanner's memory, whatever follows it. */
  #findKeywords(from: number, to: number, encodings: readonly Encoding[]): void {
    const { plan, applies } = this.#parts;
    plan.scanner.scan(from, to, { floor: from, limit: from }, (at, state) => {
      for (const { rule, length } of plan.probesAt(state, at).probes) {
        const { id } = rule.rule;
        if (this.#keywords.has(id)) continue;
        const keyword = decodeUtf8(plan.scanner.bytes.toString('latin1', at - length, at));
        this.#keywords.set(id, { rule_id: id, keyword, encodings, applies: applies?.(rule) === true });
      }
    });
  }
}

function end(match: ExplainedMatch, outcome: MatchOutcome, reason: string): void {
  match.outcome = outcome;
  match.reason = reason;
}

function refusalReason({ refusal, rule: { rule }, entropy }: Candidate): string {
  switch (refusal) {
    case 'entropy':
      return `its entropy of ${entropy.toFixed(2)} bits per character does not exceed the ${rule.entropy} of the rule`;
    case 'form':
      return 'the value has a form that no secret has: a word, a variable, a number, a path, a placeholder or the like';
    case 'empty':
    case null:
      return 'the group of the secret is empty';
  }
}

function suppressionReason(suppression: Suppression): string {
  switch (suppression.by) {
    case 'skip_report':
      return 'the rule reports nothing itself (skipReport)';
    case 'other_rule':
      return `the rule ${suppression.rule_id} reports the same secret`;
    case 'required_rule':
      return `the rule ${suppression.rule_id}, which it requires, found nothing near`;
  }
}
