/** Shared fixtures of the report tests. */
import type { Verification } from '@heddle/base/vocabulary/verdict';
import type { ScanSummary } from '../../../src/result.ts';
import type { ReportedFinding, ReportSummary, TextSink } from '../../../src/report/report.ts';

/** Made up, and in pieces, so that no scanner mistakes it for a real one. */
export const SECRET = ['ghp', 'Zq3v9LmT7xK2wB8nR4cY6dF1sJ5hG0aE'].join('_');

export const VERIFICATION: Verification = {
  verdict: 'active',
  reason: 'GitHub accepted it at api.github.com (HTTP 200)',
  checked_at: '2026-01-02T03:04:05.000Z',
  identity: 'octocat',
  permissions: ['repo', 'gist'],
};

export function finding(changes: Partial<ReportedFinding> = {}): ReportedFinding {
  return {
    rule_id: 'github-personal-access-token',
    description: 'GitHub personal access token',
    tags: ['github'],
    path: 'src/app.env',
    line: 3,
    column: 7,
    end_line: 3,
    end_column: 7 + SECRET.length + 6,
    offset: 40,
    length: SECRET.length + 6,
    match: `TOKEN=${SECRET}`,
    secret: SECRET,
    entropy: 4.75,
    encodings: [],
    confidence: 'high',
    confidence_reason: 'the value itself has the form of the rule, with "ghp_"',
    fingerprint: '0123456789abcdef0123456789abcdef',
    secret_id: null,
    ...changes,
  };
}

export function summary(changes: Partial<ReportSummary> = {}): ReportSummary {
  return { ...SUMMARY, reported: 0, secrets: changes.reported ?? 0, ignored: 0, ...changes };
}

const SUMMARY: ScanSummary = {
  outcome: 'complete',
  findings: 0,
  below_confidence: 0,
  problems: 0,
  metrics: {
    enumerate_count: 1,
    objects_discovered: 2,
    enumerate_backpressure: 0,
    fetch_sync_count: 2,
    bytes_fetched: 5000,
    scan_count: 2,
    bytes_scanned: 5_000_000,
    objects_completed: 2,
  },
  frontier_peak: 2,
  duration_ms: 1500,
};

export class Written implements TextSink {
  text = '';

  write(text: string): void {
    this.text += text;
  }

  get lines(): string[] {
    return this.text.split('\n');
  }
}
