import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

import { type CompiledRules, unpackRules } from '../packed-rules.ts';

/** Exists in the published package only; the build creates it last, from that package's own rules. */
const PLAN = new URL('./builtin.plan', import.meta.url);

/** Returns the built-in rules as compiled at build time; null if they must be compiled now. */
export function builtinPlan(file = PLAN): CompiledRules | null {
  let opened: number;
  try {
    opened = openSync(file, 'r');
  } catch {
    return null;
  }
  return readPlan(opened);
}

/** Reads a file of compiled rules into memory that threads share, and closes it. */
export function readPlan(file: number): CompiledRules {
  try {
    const bytes = new Uint8Array(new SharedArrayBuffer(fstatSync(file).size));
    for (let at = 0; at < bytes.length;) {
      const read = readSync(file, bytes, at, bytes.length - at, at);
      if (read === 0) throw new Error('compiled rules: the file became shorter while it was read');
      at += read;
    }
    return unpackRules(bytes);
  } finally {
    closeSync(file);
  }
}
