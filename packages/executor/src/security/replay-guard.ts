import { readFile } from 'node:fs/promises';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Random } from '@heddle/base/random';
import { ReplayLog } from './replay-log.ts';
import { REPLAY_LIMITS, ReplayMemory, type ReplayLimits } from './replay-memory.ts';
import { readSegments } from './replay-segments.ts';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
/** The latest request of a file may be ahead by the maximum age, and its span in memory ends slightly later. */
const KEEP_AGES = 2;

export interface ReplayGuardOptions {
  /** Directory of the nonces across restarts; null keeps them in memory only. */
  directory: string | null;
  /** Maximum difference between a request's timestamp and now, either way. */
  maxAgeMs: number;
  limits?: ReplayLimits | undefined;
  /** Boot id of the machine; default: the system's. */
  bootId?: string | null | undefined;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** Accepts each request once. */
export interface ReplayGuard {
  /**
   * Records a request; resolves when it is written, so that it can be acted on. Null if nothing is written.
   *
   * @throws RemoteFailure REPLAYED, EXPIRED or QUEUE_FULL synchronously; the promise rejects with QUEUE_FULL
   */
  remember(client: string, nonce: string, timestampMs: number): Promise<void> | null;
  close(): Promise<void>;
}

/**
 * Opens the replay memory. If the previous one may be incomplete (missing, or from before a reboot), requests signed
 * before now are rejected as EXPIRED, because they may have been received.
 */
export async function openReplayGuard(options: ReplayGuardOptions): Promise<ReplayGuard> {
  const { directory, maxAgeMs, limits = REPLAY_LIMITS, clock, random, log } = options;
  const memory = new ReplayMemory(limits, maxAgeMs, random);
  if (directory === null) {
    memory.raiseHorizon(clock.now());
    return {
      remember: (client, nonce, timestampMs) => {
        memory.remember(client, nonce, timestampMs, clock.now());
        return null;
      },
      close: () => Promise.resolve(),
    };
  }
  const bootId = options.bootId === undefined ? await readBootId() : options.bootId;
  const now = clock.now();
  const found = await readSegments(
    directory,
    bootId,
    (client, bytes, nonceAt, timestampMs) => memory.restore(client, bytes, nonceAt, timestampMs, now),
    log,
  );
  memory.raiseHorizon(found.complete ? found.horizonMs : Math.max(found.horizonMs, now));
  const { segments, nextNumber } = found;
  const written = new ReplayLog({
    ...{ directory, bootId, segments, nextNumber, log },
    horizonMs: () => memory.horizonMs,
    nowMs: () => clock.now(),
    keepMs: maxAgeMs * KEEP_AGES,
  });
  return {
    remember: (client, nonce, timestampMs) =>
      written.append(client, memory.remember(client, nonce, timestampMs, clock.now()), timestampMs),
    close: () => written.close(),
  };
}

async function readBootId(): Promise<string | null> {
  const text = await readFile(BOOT_ID, 'utf8').catch(() => '');
  return text.trim() || null;
}
