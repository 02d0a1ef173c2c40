import { appendFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

import { defineEvent } from '@heddle/kit/event';

interface Run {
  file: string;
  id: string;
  ms: number;
}

async function append(args: object): Promise<string> {
  const { file, id, ms } = args as Run;
  appendFileSync(file, `${id} started ${process.pid}\n`);
  await setTimeout(ms);
  appendFileSync(file, `${id} ended ${process.pid}\n`);
  return id;
}

/** Leaves a line for each run, so that two runs of one task are detected. */
export const once = defineEvent({ name: 'Once', run: append });
export const again = defineEvent({ name: 'Again', idempotent: true, run: append });
