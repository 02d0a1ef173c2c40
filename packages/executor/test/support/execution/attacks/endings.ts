import { writeSync } from 'node:fs';

import { defineEvent } from '@heddle/kit/event';

export default [
  defineEvent({ name: 'endings.abort', run: () => process.abort() }),
  defineEvent({
    name: 'endings.segmentation-fault',
    run: () => {
      process.kill(process.pid, 'SIGSEGV');
      return new Promise(() => setInterval(() => undefined, 1_000));
    },
  }),
  defineEvent({
    name: 'endings.kills-itself',
    run: () => {
      process.kill(process.pid, 'SIGKILL');
      return new Promise(() => setInterval(() => undefined, 1_000));
    },
  }),
  defineEvent({ name: 'endings.exit-0', run: () => process.exit(0) }),
  defineEvent({ name: 'endings.exit-7', run: () => process.exit(7) }),
  defineEvent({
    name: 'endings.throw',
    run: () => {
      throw new Error('this is wrong');
    },
  }),
  defineEvent({ name: 'endings.not-json', run: () => JSON.parse('\0abc') as unknown }),
  defineEvent({
    name: 'endings.words-of-memory',
    run: () => {
      throw new RangeError('seat allocation failed for order 7: ENOMEMBER, out of memory');
    },
  }),
  defineEvent({
    name: 'endings.words-of-memory-at-the-end',
    run: () => {
      writeSync(2, 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n');
      process.abort();
    },
  }),
  defineEvent({
    name: 'endings.unhandled-rejection',
    run: () => {
      void Promise.reject(new Error('unhandled'));
      return new Promise(() => setInterval(() => undefined, 1_000));
    },
  }),
  defineEvent({
    name: 'endings.uncaught',
    run: () => {
      setImmediate(() => {
        throw new Error('uncaught');
      });
      return new Promise(() => setInterval(() => undefined, 1_000));
    },
  }),
  defineEvent({
    name: 'endings.stack',
    run: () => {
      const descend = (depth: number): number => descend(depth + 1) + 1;
      return descend(0);
    },
  }),
  defineEvent({
    name: 'endings.thenable',
    run: () => ({
      then: (resolve: (value: unknown) => void) => resolve('resolved by hand'),
    }),
  }),
];
