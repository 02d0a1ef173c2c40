import type { RunnerMessage } from '@heddle/core/domain/runner/runner';
import type { ClassCensus, Grant, GrantedRunner, Orders, RunnerRequest } from '@heddle/core/pool/port/store';
import type { KnownType } from '@heddle/core/internal/pool/port/types';
import { firstOf } from './moves.ts';
import { byNumber, isHeld, lackOf, type RequestRow, type RunnerRow } from './rows.ts';
import type { MemoryTables } from './tables.ts';

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

export function requestOf({
  shape,
  runners,
  queue: _,
  ended_at: __,
  capacityWait: ___,
  ...request
}: RequestRow): RunnerRequest {
  return { ...request, shape_id: shape.id, kept: request.state === 'waiting' ? runners.size : 0 };
}

export function grantOf(request: RequestRow): Grant {
  return { request_id: request.id, runners: [...request.runners].sort(byNumber).map(grantedOf) };
}

export function messageOf({ id, type, threshold }: RunnerRow): RunnerMessage {
  const { resource_class, usage_class, instance_type, cpu, memory_mib } = type!;
  return { id, resource_class, usage_class, instance_type, cpu, memory_mib, threshold };
}

export function ordersOf(row: RunnerRow, now: number): Orders {
  const { id, number, state, epoch, request, threshold, draining } = row;
  const held = isHeld(state) ? request : null;
  const isFirst = held?.source === 'task' && firstOf(held) === row;
  return {
    ...{ runner_id: id, number, state, epoch, threshold, draining, now, request_id: held?.id ?? null },
    task_id: isFirst ? held.run : null,
    ready: [...(held?.runners ?? [])].every((mate) => mate === row || mate.state !== 'claimed'),
    peers: held === null ? [] : [...held.runners].sort(byNumber).map(grantedOf),
  };
}

/** Returns one entry per class and usage class with runners or waiting requests. */
export function censusOf({ live, waiting }: MemoryTables): ClassCensus[] {
  const counted = new Map<string, Mutable<ClassCensus>>();
  const lineOf = ({ resource_class, usage_class }: { resource_class: string; usage_class: string }) => {
    const key = `${resource_class} ${usage_class}`;
    const none = { created: 0, idle: 0, claimed: 0, running: 0, waiting: 0 };
    const line = counted.get(key) ?? { resource_class, usage_class, ...none };
    counted.set(key, line);
    return line;
  };
  for (const { state, shape } of live) if (state !== 'terminated') lineOf(shape.requirements)[state] += 1;
  for (const request of waiting.items) lineOf(request.shape.requirements).waiting += lackOf(request);
  return [...counted.values()];
}

export function knownTypesOf({ types }: MemoryTables): KnownType[] {
  return [...types.values()].map(({ idle, shapes: _, ...type }) => ({ ...type, idle: idle.size }));
}

function grantedOf({ id, number, epoch, type, address }: RunnerRow): GrantedRunner {
  return { id, number, epoch, instance_type: type?.instance_type ?? '', address };
}
