import type { ProviderInstance } from '@heddle/core/pool/port/provider';
import { byNumber, compareText, type RunnerRow } from './rows.ts';
import type { MemoryTables } from './tables.ts';

/** Assigns instances to runners without one, including ended ones, by their tags: the launch responses were lost. */
export function adopt(tables: MemoryTables, provider: string, present: readonly ProviderInstance[]): void {
  const unknown = present.filter(({ provider_id }) => tables.runnerAt(provider, provider_id) === undefined);
  unknown.sort((one, other) => compareText(one.provider_id, other.provider_id));
  const isSpare = (row: RunnerRow): boolean => row.provider === provider && row.provider_id === null;
  const nameless = unknown.filter(({ runner_id, provider_id }) => {
    const meant = runner_id === null ? undefined : tables.runners.get(runner_id);
    if (meant === undefined || !isSpare(meant)) return (meant?.provider_id ?? null) === null;
    tables.nameAt(meant, provider_id);
    meant.gone_at = null;
    return false;
  });
  for (const { batch_id, provider_id } of nameless) {
    const batch = batch_id === null ? undefined : tables.batches.get(batch_id);
    const spare = [...(batch?.runners ?? [])].filter(isSpare).sort(byLife)[0];
    if (spare === undefined) continue;
    tables.nameAt(spare, provider_id);
    spare.gone_at = null;
  }
}

/** Orders live runners first. */
function byLife(one: RunnerRow, other: RunnerRow): number {
  return Number(one.state === 'terminated') - Number(other.state === 'terminated') || byNumber(one, other);
}
