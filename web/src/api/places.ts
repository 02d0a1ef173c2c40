import type {
  AuditEntry,
  DeadLetter,
  Delivery,
  ListedQueue,
  Secret,
  Session,
  SlotPage,
  Token,
  Worker,
} from '@heddle/client';
import { queryOf } from '../data/filters.ts';
import { getJson, segment } from './client.ts';
import { sendJson } from './tasks.ts';

const PAGE_SIZE = 50;

/** What the console asks about the system itself. */
export const places = {
  workers: (signal: AbortSignal) => getJson<Worker[]>('/v1/workers', signal),
  queues: (signal: AbortSignal) => getJson<ListedQueue[]>('/v1/queues', signal),
  deadLetters: (signal: AbortSignal) => getJson<DeadLetter[]>('/v1/dead-letters?page_size=100', signal),
  slots: (after: string | null, signal: AbortSignal) =>
    getJson<SlotPage>(`/v1/slots${queryOf({ after, page_size: PAGE_SIZE })}`, signal),
  tokens: (signal: AbortSignal) => getJson<Token[]>('/v1/tokens', signal),
  sessions: (signal: AbortSignal) => getJson<Session[]>('/v1/sessions', signal),
  secrets: (signal: AbortSignal) => getJson<Secret[]>('/v1/secrets', signal),
  webhooks: async (filters: Readonly<Record<string, string>>, after: string | null, signal: AbortSignal) => {
    const rows = await getJson<Delivery[]>(
      `/v1/webhooks${queryOf({ ...filters, after, page_size: PAGE_SIZE })}`,
      signal,
    );
    return { rows, next: rows.length < PAGE_SIZE ? null : (rows.at(-1)?.id ?? null) };
  },
  audit: async (filters: Readonly<Record<string, string>>, before: string | null, signal: AbortSignal) => {
    const rows = await getJson<AuditEntry[]>(
      `/v1/audit${queryOf({ ...filters, before, page_size: PAGE_SIZE })}`,
      signal,
    );
    return { rows, next: rows.length < PAGE_SIZE ? null : String(rows.at(-1)?.seq ?? '') || null };
  },
};

export async function redrive(queue: string): Promise<void> {
  await sendJson('POST', `/v1/queues/${segment(queue)}/redrive`, {});
}

export async function endSession(id: string): Promise<void> {
  await sendJson('DELETE', `/v1/sessions/${segment(id)}`);
}

export async function revokeToken(id: string): Promise<void> {
  await sendJson('DELETE', `/v1/tokens/${segment(id)}`);
}
