import type { Finding, ScanTarget } from '@heddle/client';
import { getJson, request, segment } from './client.ts';

export type FindingState = Finding['state'];
export type TriageState = Finding['triage']['state'];

export const FINDING_STATES = ['new', 'known', 'gone'] as const satisfies readonly FindingState[];
export const TRIAGE_STATES = ['open', 'ignored', 'false_positive'] as const satisfies readonly TriageState[];

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
