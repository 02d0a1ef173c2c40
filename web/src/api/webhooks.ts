import type { Delivery } from '@heddle/client';
import { getJson, segment } from './client.ts';
import { sendJson } from './tasks.ts';

export type { Delivery } from '@heddle/client';

export function webhooksOfTask(id: string, signal: AbortSignal): Promise<Delivery[]> {
  return getJson(`/v1/webhooks?task_id=${segment(id)}&page_size=100`, signal);
}

export async function replayDelivery(id: string): Promise<void> {
  await sendJson('POST', `/v1/webhooks/${segment(id)}/replay`);
}
