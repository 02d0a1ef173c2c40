import { writeSync } from 'node:fs';

import { encodeFrame, encodeText } from './frames.ts';

/** Where frames for the executor go. */
const RESULTS_DESCRIPTOR = 3;

// Kept before any code of an event is loaded, which may replace what the globals hold.
const write = writeSync;
const { wait } = Atomics;
const { stringify } = JSON;
const pause = new Int32Array(new SharedArrayBuffer(4));

/** Writes a frame to its end; the descriptor may have been made non-blocking by an event. */
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
