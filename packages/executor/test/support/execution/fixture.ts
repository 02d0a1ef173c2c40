import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { HeddleError } from '@heddle/base/errors';
import { openTier } from '../../../src/execution/open-tier.ts';
import type { TierOptions } from '../../../src/execution/options.ts';
import type { EventCode, ExecutionTier, Job, JobHooks, JobOutcome } from '../../../src/execution/port.ts';
import type { Tier, TaskProgress } from '../../../src/protocol/messages.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { RESULT_BYTES_MAX } from './attack-table.ts';

/** A directory with the modules of `attacks/` that only this user can reach. */
export class AttackCode implements AsyncDisposable {
  readonly directory: string;

  private constructor(directory: string) {
    this.directory = directory;
  }

  static async make(): Promise<AttackCode> {
    const directory = await mkdtemp(join(tmpdir(), 'heddle-attacks-'));
    await cp(join(import.meta.dirname, 'attacks'), directory, { recursive: true });
    await writeFile(join(directory, 'package.json'), '{"type":"module"}');
    return new AttackCode(directory);
  }

  module(name: string): EventCode {
    return { digest: `attacks-${name}`, directory: this.directory, entry: `${name}.ts` };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}

export type TierChanges = Partial<TierOptions>;

export function tierOptions(changes: TierChanges = {}): TierOptions {
  return { workers: 1, clock: systemClock, log: silentLogger, directory: tmpdir(), ...changes };
}

/** Opens a tier, or returns why this machine does not support it. */
export async function tryTier(tier: Tier, changes: TierChanges = {}): Promise<ExecutionTier | string> {
  try {
    return await openTier(tier, tierOptions(changes));
  } catch (error) {
    if (error instanceof HeddleError) return error.message;
    throw error;
  }
}

export interface RunChanges {
  readonly args?: unknown;
  readonly timeout_ms?: number;
  readonly memory_mb?: number;
  readonly client?: string;
  readonly result_bytes_max?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: TaskProgress) => void;
  readonly onStart?: () => void;
}

export function jobOf(code: EventCode, event_name: string, changes: RunChanges = {}): Job {
  return {
    correlation_id: 'test',
    event_name,
    client: changes.client ?? 'test',
    code,
    args: Buffer.from(JSON.stringify(changes.args ?? {})),
    timeout_ms: changes.timeout_ms ?? 60_000,
    memory_mb: changes.memory_mb ?? 128,
    result_bytes_max: changes.result_bytes_max ?? RESULT_BYTES_MAX,
    traceparent: null,
  };
}

export function hooksOf(changes: RunChanges = {}): JobHooks {
  return {
    signal: changes.signal ?? new AbortController().signal,
    onProgress: changes.onProgress ?? (() => undefined),
    onStart: changes.onStart ?? (() => undefined),
  };
}

export function run(
  tier: ExecutionTier,
  code: EventCode,
  event: string,
  changes: RunChanges = {},
): Promise<JobOutcome> {
  return tier.run(jobOf(code, event, changes), hooksOf(changes));
}

export function resultOf(outcome: JobOutcome): unknown {
  if (outcome.status === 'error')
    throw new Error(`${outcome.code}: ${outcome.message} ${outcome.details?.join(' ') ?? ''}`);
  return JSON.parse(Buffer.from(outcome.result).toString()) as unknown;
}
