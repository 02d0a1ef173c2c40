import { taskStateOf } from '@heddle/base/vocabulary/task-state';
import { HeddleError } from '@heddle/base/errors';
import { hashOfText, hashToText } from '../../domain/stored-hash.ts';
import type { Queryable } from '../../store/database.ts';
import * as store from '../../store/overview/waiting.ts';
import { slotFields } from '../explain.ts';
import type { ListedSlot, SlotPage } from './port.ts';

/** Tasks shown that hold a slot, or wait for it. */
const TASKS_SHOWN = 20;

/** Slot as it is known before its page is chosen. */
interface Found {
  slot: string;
  max: number;
  used: number;
  waiting: store.ContendedSlotRow | undefined;
  detail: store.SlotDetailRow;
  holders: store.HolderRow[];
}

/**
 * Returns a page of the slots that are held or waited for, the fullest first. Looks at the first 1,000 slots that tasks
 * wait for and at 20,000 open attempts; a slot without a limit is no slot of a rule.
 */
export async function listSlots(database: Queryable, after: string | null, limit: number): Promise<SlotPage> {
  const offset = offsetOf(after);
  const waiting = await store.findContendedSlots(database);
  const holders = await store.findSlotHolders(database, null);
  const found = await combine(database, waiting, holders);
  const fullness = ({ used, max }: Found): number => (max === 0 ? 1 : used / max);
  found.sort(
    (left, right) =>
      Number(right.used >= right.max) - Number(left.used >= left.max) ||
      (right.waiting?.tasks ?? 0) - (left.waiting?.tasks ?? 0) ||
      fullness(right) - fullness(left) ||
      (left.slot < right.slot ? -1 : 1),
  );
  const page = found.slice(offset, offset + limit);
  const next = offset + limit < found.length ? String(offset + limit) : null;
  return { slots: await shown(database, page), next };
}

/** Returns a slot that is held or waited for; null if it is neither. */
export async function findSlot(database: Queryable, id: string): Promise<ListedSlot | null> {
  const slot = hashOfText(id);
  const waiting = await store.findContendedSlot(database, slot);
  const holders = await store.findSlotHolders(database, [slot]);
  const [found] = await shown(database, await combine(database, waiting, holders));
  return found ?? null;
}

async function combine(
  database: Queryable,
  waiting: readonly store.ContendedSlotRow[],
  holders: readonly store.HolderRow[],
): Promise<Found[]> {
  const held = Map.groupBy(holders, ({ slot }) => slot);
  const waited = new Map(waiting.map((row) => [row.slot, row]));
  const ids = [...new Set([...waited.keys(), ...held.keys()])];
  const details = await store.findSlotDetails(database, ids);
  return details.flatMap((detail) => {
    const own = held.get(detail.slot) ?? [];
    const maxima = own.flatMap(({ max }) => (max === null ? [] : [max]));
    const row = waited.get(detail.slot);
    const max = row?.max ?? (maxima.length === 0 ? null : Math.min(...maxima));
    if (max === null) return [];
    return [{ slot: detail.slot, max, used: detail.used, waiting: row, detail, holders: own }];
  });
}

async function shown(database: Queryable, page: readonly Found[]): Promise<ListedSlot[]> {
  const ids = page.flatMap(({ slot, waiting }) => (waiting === undefined ? [] : [slot]));
  const waiters = ids.length === 0 ? [] : await store.findSlotWaiters(database, ids, TASKS_SHOWN);
  const bySlot = Map.groupBy(waiters, ({ slot }) => slot);
  return page.map(({ slot, max, used, waiting, detail, holders }) => ({
    id: hashToText(slot),
    rule: detail.type === 1 ? 'Concurrency' : 'Capacity',
    kind: detail.kind,
    fields: slotFields(detail.fields, detail.key),
    max,
    used,
    full: used >= max,
    waiting: { n: waiting?.tasks ?? 0, n_capped: waiting?.more ?? false },
    waiting_since: waiting?.since ?? null,
    holders: holders.map(({ id, name, state, claimed_at }) => ({ id, name, state: taskStateOf(state), claimed_at })),
    waiters: (bySlot.get(slot) ?? []).map(({ id, name }) => ({ id, name })),
  }));
}

function offsetOf(after: string | null): number {
  if (after === null) return 0;
  if (/^\d{1,6}$/.test(after)) return Number(after);
  throw new HeddleError('INVALID_QUERY', undefined, { details: ['after: must be `next` of an earlier answer'] });
}
