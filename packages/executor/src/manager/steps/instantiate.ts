import { hash } from 'node:crypto';

import { newId } from '@heddle/base/random';
import type { ResolvedEvent } from '../../events/port.ts';
import type { ExecutionTier, Job, JobOutcome } from '../../execution/port.ts';
import { TIERS, type Tier } from '../../protocol/messages.ts';
import type { ManagerContext } from '../context.ts';
import type { TaskEntry } from '../task-entry.ts';

/** A task with everything needed to run it. */
export interface TaskNode {
  readonly id: string;
  readonly task: TaskEntry;
  readonly event: ResolvedEvent;
  readonly tier: ExecutionTier;
  readonly job: Job;
}

/** Step 6: prepares the run of a task, or returns why it cannot run. @param args encoded arguments */
export function instantiate(
  context: ManagerContext,
  task: TaskEntry,
  event: ResolvedEvent,
  args: Uint8Array,
): TaskNode | JobOutcome {
  const { settings, quarantine } = context;
  const { definition } = event;
  const { event_name, timeout_secs, traceparent = null } = task.accepted;
  if (!quarantine.isEmpty && quarantine.remainingSecs(quarantineKey(event_name, args)) !== null) {
    return { status: 'error', code: 'QUARANTINED', message: '' };
  }
  const wanted = strongerTier(settings.tier, definition.tier);
  const tier = context.tiers.get(wanted);
  if (tier === undefined) {
    const message = `The event requires the tier ${wanted}, which this executor does not provide`;
    return { status: 'error', code: 'EVENT_UNAVAILABLE', message };
  }
  const timeoutSecs = Math.min(settings.taskTimeoutSecs, definition.timeout_secs ?? Infinity, timeout_secs ?? Infinity);
  const job: Job = {
    correlation_id: task.id,
    event_name,
    client: task.client,
    code: event.code,
    args,
    timeout_ms: timeoutSecs * 1000,
    memory_mb: Math.min(settings.memoryMb, definition.memory_mb ?? Infinity),
    result_bytes_max: settings.resultBytesMax,
    traceparent,
  };
  return { id: newId(), task, event, tier, job };
}

/** Returns the stronger tier: an event can only strengthen the operator's choice. */
export function strongerTier(configured: Tier, wanted: Tier | null): Tier {
  return wanted !== null && TIERS.indexOf(wanted) > TIERS.indexOf(configured) ? wanted : configured;
}

/** Returns the quarantine key of a task. */
export function quarantineKey(eventName: string, args: Uint8Array): string {
  return `${eventName}\0${hash('sha256', args, 'base64url')}`;
}
