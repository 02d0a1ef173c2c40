import { once } from 'node:events';
import type { Readable } from 'node:stream';

import type { Clock } from '@heddle/base/clock';

/** Time to handle a chunk from which on reading pauses for as long. */
const PAUSES_FROM_MS = 2;

/**
 * Passes on what a stream has, and resolves when it is closed. Handling it takes at most half of this process's time,
 * however much a command writes: it waits meanwhile.
 */
export async function readOutput(stream: Readable, onChunk: (chunk: Buffer) => void, clock: Clock): Promise<void> {
  stream.on('data', (chunk: Buffer) => {
    const began = clock.monotonic();
    onChunk(chunk);
    const tookMs = clock.monotonic() - began;
    if (tookMs < PAUSES_FROM_MS) return;
    stream.pause();
    clock.after(tookMs, () => stream.resume());
  });
  stream.once('end', () => stream.destroy());
  await once(stream, 'close').catch(() => undefined);
}
