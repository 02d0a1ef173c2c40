import { writeSync } from 'node:fs';

import { defineEvent } from '@heddle/kit/event';

const block = Buffer.alloc(64 * 1024, 120);

function flood(descriptor: number, megabytes: number): void {
  for (let count = 0; count < megabytes * 16; count += 1) {
    try {
      writeSync(descriptor, block);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
}

export default [
  defineEvent({ name: 'output.stdout', run: () => flood(1, 64) }),
  defineEvent({ name: 'output.stderr', run: () => flood(2, 64) }),
  defineEvent({
    name: 'output.stdout-for-ever',
    run: () => {
      for (;;) flood(1, 1);
    },
  }),
  defineEvent({
    name: 'output.progress-for-ever',
    run: (_args, { progress }) => {
      for (;;) progress({ fraction: 0.5, message: 'x'.repeat(400) });
    },
  }),
  defineEvent({
    name: 'output.many-lines',
    run: (_args, { log }) => {
      for (let count = 0; count < 100_000; count += 1) log.info({ count }, 'line');
      return 'written';
    },
  }),
  defineEvent({
    name: 'output.odd-characters',
    run: (_args, { log }) => {
      log.info({ text: 'a\0b' }, 'a nul: \0');
      log.info({ text: '\ud800' }, 'a half: \ud800');
      log.info({ number: 2 ** 60 }, 'a number');
    },
  }),
  defineEvent({
    name: 'output.odd-lines',
    run: (_args, { log, progress }) => {
      const cycle: Record<string, unknown> = {};
      cycle['self'] = cycle;
      log.error(cycle, 'cycle');
      log.info({ big: 'x'.repeat(1_000_000) }, 'y'.repeat(1_000_000));
      progress(Number.NaN);
      progress(17);
      return 'written';
    },
  }),
];
