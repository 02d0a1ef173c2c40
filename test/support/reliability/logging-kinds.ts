import { setTimeout as sleep } from 'node:timers/promises';
import { defineKind } from '@heddle/kit';

/** Logs ten lines; half of the tasks wait between them. */
export const chatter = defineKind({
  name: 'chatter',
  run: async (input, { task, log, output }) => {
    const number = Number(input['number']);
    for (let line = 0; line < 10; line += 1) {
      if (line === 5 && number % 2 === 1) await sleep(number % 50);
      if (line % 2 === 0) output('stdout', `${number} line ${line} of attempt ${task.attempt}`);
      else log.info({}, `${number} line ${line} of attempt ${task.attempt}`);
    }
  },
});
