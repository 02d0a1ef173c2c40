import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Returns undefined for what is no JSON: the line that a killed process was writing. */
function parseLine(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Runs `scan-process.ts`, and kills it once it has printed a number of findings. */
export async function runUntil(
  arguments_: string[],
  killAfter: number,
): Promise<{ lines: unknown[]; isComplete: boolean }> {
  const script = join(import.meta.dirname, 'scan-process.ts');
  const child = spawn(process.execPath, [script, ...arguments_], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const lines: unknown[] = [];
  let isComplete = false;
  for await (const text of createInterface({ input: child.stdout })) {
    const line = parseLine(text);
    if (line === undefined) {
      assert.ok(child.killed, `not a line of JSON: ${text}`);
      break;
    }
    if (typeof line === 'string') lines.push(line);
    else isComplete = typeof line === 'object' && line !== null && 'summary' in line;
    if (lines.length === killAfter) child.kill('SIGKILL');
  }
  await exited;
  return { lines, isComplete };
}
