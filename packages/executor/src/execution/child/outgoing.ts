import { writeSync } from 'node:fs';

import { encodeFrame, encodeText } from './frames.ts';

/** Descriptor for frames to the executor. */
export const RESULTS_DESCRIPTOR = 3;

// Captured before event code is loaded, which may replace the globals.
const write = writeSync;
const { wait } = Atomics;
const { stringify } = JSON;
const pause = new Int32Array(new SharedArrayBuffer(4));

/** Writes a whole frame; an event may have made the descriptor non-blocking. */
function writeAll(frame: Buffer): void {
  let at = 0;
  while (at < frame.length) {
    try {
      at += write(RESULTS_DESCRIPTOR, frame, at, frame.length - at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      wait(pause, 0, 0, 1);
    }
  }
}

export function sendFrame(type: number, content: Uint8Array): void {
  writeAll(encodeFrame(type, content));
}

/** @param text JSON */
export function sendText(type: number, serial: number, text: string): void {
  writeAll(encodeText(type, serial, text));
}

export function sendJson(type: number, serial: number, value: unknown): void {
  sendText(type, serial, stringify(value));
}
