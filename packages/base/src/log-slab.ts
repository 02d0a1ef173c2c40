import type { EncodedLines } from './vocabulary/task-log.ts';

const SLAB_BYTES = 512 * 1024;
const BYTES_PER_CHAR_MAX = 3;

/**
 * All lines of one attempt: the bytes from `start` to `end` of `slab` are NUL, its task, a space, its number, and the
 * encoded lines, which contain no NUL. Logs that were written one after the other lie one after the other.
 */
export interface SlabLog {
  /** The number of lines. */
  readonly lines: number;
  readonly slab: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * Writes logs of ended attempts outside the heap: they live until their reports are stored, and as strings the collector
 * would copy them meanwhile.
 */
export class LogSlabWriter {
  #slab = Buffer.alloc(0);
  #end = 0;

  write(taskId: string, attempt: number, { lines, text }: EncodedLines): SlabLog {
    const log = `${headOf(taskId, attempt)}${text}`;
    if (this.#slab.length - this.#end < log.length * BYTES_PER_CHAR_MAX) {
      this.#slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, log.length * BYTES_PER_CHAR_MAX));
      this.#end = 0;
    }
    const start = this.#end;
    this.#end += this.#slab.write(log, start);
    return { lines, slab: this.#slab, start, end: this.#end };
  }
}

function headOf(taskId: string, attempt: number): string {
  return `\0${taskId} ${attempt}`;
}

/** Returns the bytes of logs; those that lie one after the other are not copied. */
export function joinLogs(logs: readonly SlabLog[]): Buffer {
  const parts: Buffer[] = [];
  for (let index = 0; index < logs.length;) {
    const { slab, start } = logs[index]!;
    let { end } = logs[index]!;
    for (index += 1; logs[index]?.slab === slab && logs[index]?.start === end; index += 1) ({ end } = logs[index]!);
    parts.push(slab.subarray(start, end));
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

/** Returns the encoded lines of one attempt among joined logs; null if it is not there. */
export function findLog(logs: Buffer, taskId: string, attempt: number): string | null {
  const head = headOf(taskId, attempt);
  const start = logs.indexOf(`${head}\n`);
  if (start < 0) return null;
  const end = logs.indexOf(0, start + 1);
  return logs.toString('utf8', start + head.length, end < 0 ? logs.length : end);
}

/** Returns the lines of one log. */
export function linesOf({ lines, slab, start, end }: SlabLog): EncodedLines {
  return { lines, text: slab.toString('utf8', slab.indexOf(10, start), end) };
}
