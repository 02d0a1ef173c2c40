import type { BulkResult, Finding, FindingDetail, ScanTarget } from '@heddle/client';
import { getJson, segment } from './client.ts';
import { pageAfter } from './paging.ts';
import { sendJson } from './tasks.ts';

export type FindingState = Finding['state'];
export type TriageState = Finding['triage']['state'];

const TARGETS_SHOWN = 100;

/** What the console asks about findings. */
export const findings = {
  list: (filters: Readonly<Record<string, string>>, after: string | null, signal: AbortSignal) =>
    pageAfter<Finding>('/v1/findings', filters, after, signal),
  get: (id: string, signal: AbortSignal) => getJson<FindingDetail>(`/v1/findings/${segment(id)}`, signal),
  targets: (signal: AbortSignal) => getJson<ScanTarget[]>(`/v1/findings/targets?page_size=${TARGETS_SHOWN}`, signal),
};

/** Triages findings in one call; returns which changed, and why the others did not. */
export async function triageFindings(
  ids: readonly string[],
  triage: TriageState,
  comment: string,
): Promise<BulkResult> {
  const body = { ids, triage, ...(comment === '' ? {} : { comment }) };
  return (await (await sendJson('POST', '/v1/findings/bulk', body)).json()) as BulkResult;
}
