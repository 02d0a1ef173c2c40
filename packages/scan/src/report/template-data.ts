import type { Commit, ContextLine, Problem } from '../result.ts';
import type { BaselineCounts, ReportSummary } from './report.ts';
import type { SecretGroup, SecretPlace } from './secret-groups.ts';

/** A secret as templates see it; fields that do not apply are null. */
export interface SecretData {
  rule_id: string;
  description: string;
  tags: readonly string[];
  confidence: string;
  confidence_reason: string;
  path: string;
  line: number;
  column: number;
  secret: string;
  match: string;
  entropy: number;
  encodings: readonly string[];
  key_path: string | null;
  key_name: string | null;
  fingerprint: string;
  secret_id: string | null;
  commit: Commit | null;
  /** The lines around it, masked. */
  context: readonly Pick<ContextLine, 'number' | 'text'>[];
  /** All places, and the first 21 of them, that of the secret itself first. */
  places_count: number;
  places: readonly SecretPlace[];
}

export interface SummaryData {
  outcome: string;
  reason: string | null;
  secrets: number;
  places: number;
  ignored: number;
  below_confidence: number;
  problems: number;
  objects: number;
  bytes: number;
  duration_ms: number;
  baseline: BaselineCounts | null;
}

export interface TemplateData {
  summary: SummaryData;
  /** The surest first, at most 1,000. */
  secrets: readonly SecretData[];
  secrets_left_out: number;
  /** At most 1,000. */
  problems: readonly Problem[];
  problems_left_out: number;
}

export function secretData({ lead, count, others }: SecretGroup): SecretData {
  const { path, line, column, fingerprint, commit = null } = lead;
  return {
    rule_id: lead.rule_id,
    description: lead.description,
    tags: lead.tags,
    confidence: lead.confidence,
    confidence_reason: lead.confidence_reason,
    path,
    line,
    column,
    secret: lead.secret,
    match: lead.match,
    entropy: lead.entropy,
    encodings: lead.encodings,
    key_path: lead.key_path ?? null,
    key_name: lead.key_name ?? null,
    fingerprint,
    secret_id: lead.secret_id,
    commit,
    context: (lead.context ?? []).map(({ number, text }) => ({ number, text })),
    places_count: count,
    places: [{ path, line, column, fingerprint, commit: commit?.id ?? null }, ...others],
  };
}

export function dataOf(
  summary: ReportSummary,
  found: { secrets: readonly SecretData[]; leftOut: number; problems: readonly Problem[] },
): TemplateData {
  const { outcome, reason = null, secrets, reported, ignored, below_confidence, metrics, duration_ms } = summary;
  return {
    summary: {
      outcome,
      reason,
      secrets,
      places: reported,
      ignored,
      below_confidence,
      problems: summary.problems,
      objects: metrics.objects_completed,
      bytes: metrics.bytes_scanned,
      duration_ms,
      baseline: summary.baseline ?? null,
    },
    secrets: found.secrets,
    secrets_left_out: found.leftOut,
    problems: found.problems,
    problems_left_out: Math.max(0, summary.problems - found.problems.length),
  };
}

const NOTHING: TemplateData = {
  summary: {
    outcome: 'complete',
    reason: null,
    secrets: 0,
    places: 0,
    ignored: 0,
    below_confidence: 0,
    problems: 0,
    objects: 1,
    bytes: 1,
    duration_ms: 1,
    baseline: null,
  },
  secrets: [],
  secrets_left_out: 0,
  problems: [],
  problems_left_out: 0,
};

const COMMIT: Commit = { id: 'c'.repeat(40), author: 'A', email: 'a@example.com', date: '2026-01-01', subject: 's' };

/** Made-up data with all fields, for the trial of a template: nothing, and one of everything. */
export const SAMPLES: readonly TemplateData[] = [
  NOTHING,
  {
    summary: {
      ...NOTHING.summary,
      outcome: 'aborted',
      reason: 'r',
      secrets: 1,
      places: 1,
      baseline: { known: 1, gone: 1 },
    },
    secrets: [
      {
        rule_id: 'rule',
        description: 'Found a secret.',
        tags: ['tag'],
        confidence: 'high',
        confidence_reason: 'reason',
        path: 'path',
        line: 1,
        column: 1,
        secret: 'abc***',
        match: 'abc***',
        entropy: 3,
        encodings: ['base64'],
        key_path: 'key',
        key_name: 'name',
        fingerprint: 'f'.repeat(32),
        secret_id: 'e'.repeat(32),
        commit: COMMIT,
        context: [{ number: 1, text: 'text' }],
        places_count: 2,
        places: [{ path: 'path', line: 1, column: 1, fingerprint: 'f'.repeat(32), commit: COMMIT.id }],
      },
    ],
    secrets_left_out: 1,
    problems: [{ code: 'encrypted', path: 'a.zip', message: 'm', extent: 'skipped' }],
    problems_left_out: 1,
  },
];
