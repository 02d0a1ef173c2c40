import { getJson, request, segment } from './client.ts';

export const FINDING_STATES = ['new', 'known', 'gone'] as const;
export type FindingState = (typeof FINDING_STATES)[number];
export const TRIAGE_STATES = ['open', 'ignored', 'false_positive'] as const;
export type TriageState = (typeof TRIAGE_STATES)[number];

/** A secret that scans found, without the secret. Times are ISO 8601 strings. */
export interface Finding {
  id: string;
  target: string;
  fingerprint: string;
  rule_id: string;
  description: string;
  tags: string[];
  path: string;
  redacted: string;
  occurrences: number;
  line: number;
  column: number;
  encodings: string[];
  commit: { id: string; author: string; date: string } | null;
  state: FindingState;
  runs: number;
  first_seen: string;
  last_seen: string;
  gone_at: string | null;
  triage: { state: TriageState; by: string | null; at: string | null; comment: string | null };
}

export interface ScanTarget {
  target: string;
  runs: number;
  /** Null if its latest run is no longer kept. */
  last_run: {
    started_at: string;
    ended_at: string | null;
    complete: boolean;
    new: number;
    known: number;
    gone: number;
  } | null;
}

/** Filters; an empty string is no filter. */
export interface FindingQuery {
  target: string;
  rule: string;
  path: string;
  state: FindingState | '';
  triage: TriageState | '';
}

/** One page, newest first, after the finding with that id. */
export function listFindings(
  query: FindingQuery,
  page: { after: string | null; size: number },
  signal?: AbortSignal,
): Promise<Finding[]> {
  const search = new URLSearchParams({ page_size: String(page.size) });
  for (const [name, value] of Object.entries(query)) if (value !== '') search.set(name, value as string);
  if (page.after !== null) search.set('after', page.after);
  return getJson(`/v1/findings?${search}`, signal);
}

export function listTargets(size: number, signal?: AbortSignal): Promise<ScanTarget[]> {
  return getJson(`/v1/findings/targets?page_size=${size}`, signal);
}

/** Sets the triage status of a finding; throws an ApiError if the server rejects it. */
export async function triageFinding(id: string, triage: TriageState, comment: string): Promise<void> {
  await request(`/v1/findings/${segment(id)}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ triage, comment: comment === '' ? null : comment }),
  });
}
