import type { Finding, Problem, ScanSummary } from '@heddle/scan/result';
import type { Baseline } from '@heddle/scan/baseline/baseline';
import type { IgnoreList } from '@heddle/scan/baseline/ignore-list';
import type { BaselineCollector } from '@heddle/scan/baseline/write-baseline';
import { redactFinding } from '@heddle/scan/report/redact';
import { ProblemTally } from '@heddle/scan/report/problem-tally';
import type { ReportSummary, ScanReport } from '@heddle/scan/report/report';

export interface OutcomeOptions {
  reports: ScanReport;
  ignored: IgnoreList;
  baseline: Baseline | null;
  collector: BaselineCollector | null;
  showSecrets: boolean;
}

/** Decides whether each finding is suppressed, known or reported, and counts them. */
export class ScanOutcomes {
  readonly problems = new ProblemTally();
  readonly #options: OutcomeOptions;
  #reported = 0;
  #ignored = 0;

  constructor(options: OutcomeOptions) {
    this.#options = options;
  }

  get reported(): number {
    return this.#reported;
  }

  finding(finding: Finding): void {
    const { reports, ignored, baseline, collector, showSecrets } = this.#options;
    if (ignored.has(finding)) {
      this.#ignored += 1;
      return;
    }
    collector?.add(finding);
    if (baseline?.take(finding) === true) return;
    this.#reported += 1;
    reports.finding(showSecrets ? finding : redactFinding(finding));
  }

  problem(problem: Problem): void {
    this.problems.add(problem);
    this.#options.reports.problem(problem);
  }

  summary(summary: ScanSummary): ReportSummary {
    const { baseline } = this.#options;
    return {
      ...summary,
      duration_ms: Math.round(summary.duration_ms),
      reported: this.#reported,
      ignored: this.#ignored,
      ...(baseline === null ? {} : { baseline: baseline.counts }),
    };
  }
}
