import { readFile } from 'node:fs/promises';

import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Random } from '../../runtime/random.ts';
import { ReplayLog } from './replay-log.ts';
import { REPLAY_LIMITS, ReplayMemory, type ReplayLimits } from './replay-memory.ts';
import { readSegments } from './replay-segments.ts';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
/** The youngest request of a file may lie ahead by the whole age, and its span in memory ends a little later. */
const KEEP_AGES = 2;

export interface ReplayGuardOptions {
  /** Where nonces are kept across restarts; null keeps them in memory only. */
  directory: string | null;
  /** How far a request's time may lie from now, on either side. */
  maxAgeMs: number;
  limits?: ReplayLimits | undefined;
  /** Identity of the machine's boot, where it is not the system's own. */
  bootId?: string | null | undefined;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** Takes each request once. */
export interface ReplayGuard {
  /**
   * Remembers a request; resolves when it is written down, so that it can be acted on. Null where nothing is written.
   *
   * @throws RemoteFailure REPLAYED, EXPIRED, QUEUE_FULL, at once; the promise rejects with QUEUE_FULL
   */
  remember(client: string, nonce: string, timestampMs: number): Promise<void> | null;
  close(): Promise<void>;
}

/**
 * Opens the memory of requests. Where the one of before may lack something (there is none, or the machine was started
 * anew), requests that were signed before now are refused as EXPIRED: they may have been received.
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
