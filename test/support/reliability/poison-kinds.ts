/** Kinds that take the process down in which they run, and one that does not. */
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { defineKind, type JsonObject } from '@heddle/kit';

const emit = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`);

/** Kills its process: at once, before its start can be reported, or after its start was reported. */
export const poison = defineKind({
  name: 'poison',
  run: async (input: JsonObject, { task: { id }, attempt }) => {
    emit({ event: 'began', id, attempt });
    // fixed wait: long enough for the heartbeat to leave.
    if (input['told'] === true) await sleep(500);
    process.kill(process.pid, 'SIGKILL');
    await sleep(60_000);
  },
});

/** Ends its process by an error that no one can catch. */
export const crash = defineKind({
  name: 'crash',
  run: async (_input: JsonObject, { task: { id }, attempt }) => {
    emit({ event: 'began', id, attempt });
    setTimeout(() => {
      throw new Error('an error of a callback');
    }, 500);
    await sleep(60_000);
  },
});

export const harmless = defineKind({
  name: 'harmless',
  run: async (_input: JsonObject, { attempt }) => {
    await sleep(100);
    return { attempt };
  },
});
