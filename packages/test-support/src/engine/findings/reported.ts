import type { ReportedFinding } from '@heddle/core/domain/finding';
import { createFindings, type FindingsOptions } from '@heddle/core/engine/findings/findings';
import type { Findings, ScanBooks } from '@heddle/core/engine/findings/port';
import { newId } from '@heddle/base/random';
import type { Verdict, Verification } from '@heddle/base/vocabulary/verdict';
import type { Database } from '@heddle/core/store/database';

/** What a provider said of a secret. @param minute of its hour, at which it was asked */
export function verified(verdict: Verdict, minute = 0): Verification {
  return {
    verdict,
    reason: `Made-up says that it is ${verdict}`,
    checked_at: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
    identity: verdict === 'active' ? 'octocat' : null,
    permissions: verdict === 'active' ? ['repo', 'gist'] : [],
  };
}

/** A finding whose fingerprint follows from its number. */
export function reported(number: number, extra: Partial<ReportedFinding> = {}): ReportedFinding {
  return {
    fingerprint: number.toString(16).padStart(32, '0'),
    rule_id: 'made-up-token',
    description: 'A made-up token',
    tags: ['test'],
    path: `src/file-${number}.ts`,
    redacted: 'mut_***',
    occurrences: 1,
    line: number,
    column: 1,
    end_line: number,
    end_column: 20,
    entropy: 4.2,
    encodings: [],
    confidence: 'medium',
    confidence_reason: 'the value fits the rule by its form and the text around it',
    key_path: null,
    key_name: null,
    commit: null,
    secret_id: null,
    verification: null,
    context: [],
    ...extra,
  };
}

export function findingsOf(database: Database, options: Partial<FindingsOptions> = {}): Findings & ScanBooks {
  return createFindings({ database, newId, keepMs: 86_400_000, chunksMs: 86_400_000, ...options });
}

/** One whole run; returns what `finishRun` says. */
export async function runOf(
  books: ScanBooks,
  target: string,
  findings: readonly ReportedFinding[],
  { complete = true, id = newId() }: { complete?: boolean; id?: string } = {},
) {
  await books.beginRun(id, target);
  await books.merge(id, findings);
  return books.finishRun(id, complete);
}
