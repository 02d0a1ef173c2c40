import type { Finding, Problem, ScanSummary } from '../result.ts';
import type { Baseline } from '../baseline/baseline.ts';
import type { IgnoreList } from '../baseline/ignore-list.ts';
import type { BaselineCollector } from '../baseline/write-baseline.ts';
import { redactFinding } from '../report/redact.ts';
import { SecretCount } from '../report/secret-count.ts';
import { secretIdOf } from '../fingerprint.ts';
import { ProblemTally } from '../report/problem-tally.ts';
import type { ReportSummary, ScanReport, VerdictCounts } from '../report/report.ts';

export interface OutcomeOptions {
  reports: ScanReport;
  ignored: IgnoreList;
  baseline: Baseline | null;
  collector: BaselineCollector | null;
  showSecrets: boolean;
  /** Findings with another verdict are counted, not reported. */
  onlyActive: boolean;
}

/** Decides whether each finding is suppressed, known or reported, and counts them. */
export class ScanOutcomes {
  readonly problems = new ProblemTally();
  readonly #options: OutcomeOptions;
  readonly #secrets = new SecretCount();
  #reported = 0;
  #ignored = 0;
  #verdicts: VerdictCounts | null = null;

  constructor(options: OutcomeOptions) {
    this.#options = options;
  }

  get reported(): number {
    return this.#reported;
  }

  /** Returns whether no list and no baseline exempts a finding. */
  accepts(finding: Finding): boolean {
    const { ignored, baseline, collector } = this.#options;
    if (ignored.has(finding)) {
      this.#ignored += 1;
      return false;
    }
    collector?.add(finding);
    return baseline?.take(finding) !== true;
  }

  finding(finding: Finding): void {
    const { reports, showSecrets, onlyActive } = this.#options;
    const { verification } = finding;
    if (verification !== undefined) {
      this.#verdicts ??= { active: 0, inactive: 0, unknown: 0, not_shown: 0 };
      this.#verdicts[verification.verdict] += 1;
      if (onlyActive && verification.verdict !== 'active') {
        this.#verdicts.not_shown += 1;
        return;
      }
    }
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
      ...(this.#verdicts === null ? {} : { verdicts: this.#verdicts }),
      ...(baseline === null ? {} : { baseline: baseline.counts }),
    };
  }
}
