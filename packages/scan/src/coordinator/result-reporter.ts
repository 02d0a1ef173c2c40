import { type Confidence, isAtLeast } from '@heddle/base/vocabulary/confidence';
import type { Finding, Problem } from '../result.ts';
import { SubjectCleaner } from '../report/subject-cleaner.ts';
import type { ScanObserver } from './observer.ts';

/** Passes results to the observer in order, and counts them. Errors of the observer go to `failed`. */
export class ResultReporter {
  findings = 0;
  /** Findings that are less certain than wanted. */
  belowConfidence = 0;
  problems = 0;
  /** Problems that left something unscanned. */
  gaps = 0;
  readonly #subjects: SubjectCleaner;
  readonly #observer: ScanObserver;
  readonly #failed: (error: unknown) => void;
  readonly #confidence: Confidence;

  /** @param wanted whether the object at a path is scanned, and the minimum confidence of findings */
  constructor(
    observer: ScanObserver,
    wanted: { isWanted: (path: string) => boolean; confidence: Confidence },
    failed: (error: unknown) => void,
  ) {
    this.#subjects = new SubjectCleaner(wanted.isWanted);
    this.#confidence = wanted.confidence;
    this.#observer = observer;
    this.#failed = failed;
  }

  finding(finding: Finding): void | Promise<void> {
    // Its secret must not appear in a subject either, even if it is not reported.
    const clean = this.#subjects.clean(finding);
    if (!isAtLeast(finding.confidence, this.#confidence)) {
      this.belowConfidence += 1;
      return;
    }
    this.findings += 1;
    return this.guarded(() => {
      if (this.#observer.accepts?.(clean) !== false) return this.#observer.onFinding(clean);
    });
  }

  problem(problem: Problem): void | Promise<void> {
    this.problems += 1;
    this.#subjects.problem(problem);
    if (problem.extent !== 'notice') this.gaps += 1;
    return this.guarded(() => this.#observer.onProblem(problem));
  }

  guarded(deliver: () => void | Promise<void>): void | Promise<void> {
    try {
      return deliver();
    } catch (error) {
      this.#failed(error);
    }
  }
}
