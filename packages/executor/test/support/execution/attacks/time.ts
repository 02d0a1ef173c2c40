import { defineEvent } from '@heddle/kit/event';

export default [
  defineEvent({
    name: 'time.endless-loop',
    run: () => {
      for (;;);
    },
  }),
  defineEvent({ name: 'time.regular-expression', run: () => /^(a+)+$/.test(`${'a'.repeat(60)}!`) }),
  defineEvent({ name: 'time.never-settles', run: () => new Promise(() => undefined) }),
  defineEvent({ name: 'time.waits-for-ever', run: () => new Promise(() => setInterval(() => undefined, 1_000)) }),
  defineEvent({
    name: 'time.ignores-signals',
    run: (_args, { signal }) => {
      for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const) process.on(name, () => undefined);
      signal.addEventListener('abort', () => {
        for (;;);
      });
      return new Promise(() => setInterval(() => undefined, 1_000));
    },
  }),
  defineEvent({
    name: 'time.microtasks',
    run: async () => {
      for (;;) await Promise.resolve();
    },
  }),
  defineEvent({ name: 'time.atomic-wait', run: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) }),
];
