import type { Finding, Problem, ScanSummary } from '../result.ts';
import type { Baseline } from '../baseline/baseline.ts';
import type { IgnoreList } from '../baseline/ignore-list.ts';
import type { BaselineCollector } from '../baseline/write-baseline.ts';
import { redactFinding } from '../report/redact.ts';
import { SecretCount } from '../report/secret-count.ts';
import { secretIdOf } from '../fingerprint.ts';
import { ProblemTally } from '../report/problem-tally.ts';
import type { ReportSummary, ScanReport } from '../report/report.ts';

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
  readonly #secrets = new SecretCount();
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
    const secret_id = secretIdOf(finding.secret);
    this.#secrets.add(secret_id ?? finding.fingerprint);
    reports.finding({ ...(showSecrets ? finding : redactFinding(finding)), secret_id });
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
      secrets: this.#secrets.value,
      ignored: this.#ignored,
      ...(baseline === null ? {} : { baseline: baseline.counts }),
    };
  }
}
