import { existsSync, writeFileSync } from 'node:fs';

import { defineEvent } from '@heddle/kit/event';

const kept = globalThis as { leftBehind?: string };

export default [
  defineEvent({
    name: 'state.leave',
    run: () => {
      kept.leftBehind = 'secret';
      process.env['LEFT_BEHIND'] = 'secret';
      writeFileSync('left-behind', 'secret');
      return 'left';
    },
  }),
  defineEvent({
    name: 'state.find',
    run: () => ({
      global: kept.leftBehind ?? null,
      environment: process.env['LEFT_BEHIND'] ?? null,
      file: existsSync('left-behind'),
    }),
  }),
];
