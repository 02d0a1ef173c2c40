/** Kinds of workers that are killed: what they do goes to standard output, a line of JSON each, before they go on. */
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { defineKind, into, task, type JsonObject } from '@heddle/kit';

const emit = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`);

/** Ends at once, but for the attempts that its input names, which hold until their signal aborts. */
export const hold = defineKind({
  name: 'hold',
  run: async (input: JsonObject, { task: { id }, attempt, signal }) => {
    emit({ event: 'began', id, attempt });
    if (attempt <= Number(input['holding_attempts'])) {
      await new Promise((_, reject) => {
        const stop = (): void => {
          emit({ event: 'aborted', id, attempt });
          reject(signal.reason as Error);
        };
        if (signal.aborted) stop();
        signal.addEventListener('abort', stop);
      });
    }
    return { attempt };
  },
});

/** Creates this number of tasks; its first attempt holds after half of them. */
export const generator = defineKind({
  name: 'PartGenerator',
  async *run(input: JsonObject, { task: { id }, attempt }) {
    const count = Number(input['count']);
    emit({ event: 'began', id, attempt });
    for (let n = 0; n < count; n += 1) {
      if (attempt === 1 && n === count / 2) {
        emit({ event: 'half', id, attempt });
        // fixed wait: forever, it is killed here.
        await sleep(600_000);
      }
      yield into('parts', task('hold', { n }));
    }
  },
});

/** Sums what came before it. */
export const sum = defineKind({
  name: 'Sum',
  run: async (_input: JsonObject, { results }) => {
    let ended = 0;
    for await (const { kind } of results()) if (kind === 'hold') ended += 1;
    return ended;
  },
});
