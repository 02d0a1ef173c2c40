import { createServer } from 'node:net';

import { defineEvent } from '@heddle/kit/event';

export default [
  defineEvent({ name: 'leftovers.none', run: () => process.pid }),
  defineEvent({
    name: 'leftovers.timer',
    run: () => {
      setTimeout(() => undefined, 60_000);
      return process.pid;
    },
  }),
  defineEvent({
    name: 'leftovers.server',
    run: () => {
      createServer().listen(0, '127.0.0.1');
      return process.pid;
    },
  }),
  defineEvent({
    name: 'leftovers.memory',
    run: (args) => Buffer.alloc((args['mebibytes'] as number) * 1024 * 1024, 1).length,
  }),
];
