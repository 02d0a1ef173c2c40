import type { WebhookParams } from '@heddle/base/vocabulary/task';
import { secretNameOf } from '@heddle/base/vocabulary/secret-reference';
import type { Delivery, NamedSecrets } from '@heddle/core/engine/port';
import type { SendableParams } from './webhook-request.ts';

/**
 * Returns the parameters with the values of the secrets that its headers name.
 * @throws SecretRefusedError unless they are granted to the origin of the address; Error if there is no key for them
 */
export async function withSecretHeaders(
  params: WebhookParams,
  { task_id, trigger }: Pick<Delivery, 'task_id' | 'trigger'>,
  secrets: Pick<NamedSecrets, 'use'> | null,
): Promise<SendableParams> {
  const entries = Object.entries(params.headers ?? {});
  const names = entries.flatMap(([, value]) => secretNameOf(value) ?? []);
  if (names.length === 0) return params as SendableParams;
  if (secrets === null) throw new Error('this process has no secrets');
  // The target of a start reports how the task ended.
  const values = await secrets.use(names, {
    grantee: new URL(params.url).origin,
    task_id,
    isSent: trigger === 'start',
  });
  const headers = entries.map(([name, value]) => [name, typeof value === 'string' ? value : values.get(value.secret)!]);
  return { ...params, headers: Object.fromEntries(headers) as Record<string, string> };
}
