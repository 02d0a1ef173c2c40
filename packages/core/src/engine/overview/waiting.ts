import { USAGE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import { taskStateOf } from '@heddle/base/vocabulary/task-state';
import { hashToText } from '../../domain/stored-hash.ts';
import { COUNT_CAP } from '../../store/overview/counts.ts';
import * as store from '../../store/overview/waiting.ts';
import { CLAIMER_GONE_MS, slotFields } from '../explain.ts';
import { counted, laneInWords, noWorkerSentence, ruleSentence } from '../explain-summary.ts';
import type { Obstacle } from '../explanation.ts';
import { WEBHOOK_LANE } from '../lanes.ts';
import type { OverviewContext } from './context.ts';
import type { WaitingGroup } from './port.ts';

/** Slots whose holders are looked up. */
const SLOTS_SHOWN = 20;

/** Ready tasks of a lane, and whether anyone claims them. */
export interface LaneState {
  row: store.LaneRow;
  lane: string;
  kind: string | null;
  /** Null: workers claim from it. */
  obstacle: Extract<Obstacle, { type: 'no_worker' }> | null;
}

/** A slot at its limit that tasks wait for. */
export interface FullSlot {
  row: store.ContendedSlotRow;
  obstacle: Extract<Obstacle, { type: 'rule' }>;
  holders: (Extract<Obstacle, { type: 'rule' }>['holders'][number] & { claimed_at: number | null })[];
}

/** Who claims from the lanes with ready tasks; those of tasks that need runners aside. */
export async function laneStates(
  { database, knownKinds }: OverviewContext,
  ready: readonly store.LaneRow[],
  now: number,
): Promise<LaneState[]> {
  const rows = ready.filter(({ lane }) => lane >= WEBHOOK_LANE);
  if (rows.length === 0) return [];
  const claimers = await store.findClaimersOf(
    database,
    rows.map(({ lane }) => lane),
    now,
    CLAIMER_GONE_MS,
  );
  const byLane = new Map(claimers.map((claimer) => [claimer.lane, claimer]));
  const neverSeen = claimers.flatMap(({ kind, last_seen }) => (kind !== null && last_seen === null ? [kind] : []));
  const unknown = new Map((await knownKinds.unknown(database, neverSeen)).map((each) => [each.kind, each]));
  return rows.map((row) => {
    const { kind = null, last_seen = null, live = 0 } = byLane.get(row.lane) ?? {};
    const lane = kind === null ? 'webhook' : `kind:${kind}`;
    if (live > 0) return { row, lane, kind, obstacle: null };
    const meant = kind === null ? undefined : unknown.get(kind);
    const never = meant === undefined ? {} : { never: { did_you_mean: meant.did_you_mean } };
    return { row, lane, kind, obstacle: { type: 'no_worker', lane, last_seen, ...never } };
  });
}

/** Full slots with the most waiting tasks, and who holds them. */
export async function fullSlots({ database }: OverviewContext): Promise<FullSlot[]> {
  const rows = await store.findContendedSlots(database, SLOTS_SHOWN);
  if (rows.length === 0) return [];
  const ids = rows.map(({ slot }) => slot);
  const details = new Map((await store.findSlotDetails(database, ids)).map((each) => [each.slot, each]));
  const holders = Map.groupBy(await store.findSlotHolders(database, ids), ({ slot }) => slot);
  return rows.flatMap((row) => {
    const detail = details.get(row.slot);
    // A slot that is free again is about to be granted.
    if (detail === undefined || detail.used < row.max) return [];
    const held = (holders.get(row.slot) ?? []).map(({ id, name, state, claimed_at }) => {
      return { id, name, state: taskStateOf(state), claimed_at };
    });
    const obstacle = {
      type: 'rule',
      rule: detail.type === 1 ? 'concurrency' : 'capacity',
      kind: detail.kind,
      fields: slotFields(detail.fields, detail.key),
      max: row.max,
      used: detail.used,
      holders: held,
    } as const;
    return [{ row, obstacle, holders: held }];
  });
}

export function laneGroup({ row, lane, kind, obstacle }: LaneState): WaitingGroup {
  const text =
    obstacle === null
      ? `The workers of ${laneInWords(lane)} are busy; the tasks start as soon as these have capacity.`
      : noWorkerSentence(obstacle);
  return { ...groupOf(row), type: obstacle === null ? 'queued' : 'no_worker', text, kind };
}

export function slotGroup({ row, obstacle }: FullSlot): WaitingGroup {
  return {
    ...groupOf(row),
    type: 'rule',
    text: ruleSentence(obstacle),
    kind: obstacle.kind,
    slot_id: hashToText(row.slot),
  };
}

function groupOf(row: store.LaneRow | store.ContendedSlotRow): Omit<WaitingGroup, 'type' | 'text'> {
  const { tasks, more, since, task_id, name } = row;
  return { tasks, tasks_capped: more, since, kind: null, slot_id: null, sample: { task_id, name } };
}

export async function runnerGroups({ database }: OverviewContext): Promise<WaitingGroup[]> {
  return (await store.findRunnerWaits(database)).map((row) => ({
    type: 'runner',
    text: runnerText(row),
    tasks: Math.min(row.n, COUNT_CAP),
    tasks_capped: row.n > COUNT_CAP,
    since: row.since,
    kind: null,
    slot_id: null,
    sample: row.task_id === null || row.name === null ? null : { task_id: row.task_id, name: row.name },
  }));
}

function runnerText({ resource_class, usage_class, launching, reason }: store.RunnerWaitRow): string {
  const launches = launching === 0 ? 'none is being launched' : `${counted(launching, 'runner')} are being launched`;
  const failure = reason === null ? '' : `; the last launch failed: ${reason}`;
  return (
    `They wait for runners of the class ${resource_class} (${USAGE_CLASSES[usage_class]}): ${launches}${failure}. ` +
    '`heddle pool status` shows what holds launches back.'
  );
}
