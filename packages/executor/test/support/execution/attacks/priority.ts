import { readdirSync, readFileSync } from 'node:fs';

import { defineEvent } from '@heddle/kit/event';

/** Returns the priority of each thread of this process, and of its session if the kernel has autogroups. */
export default defineEvent({
  name: 'priority',
  run: () => {
    const threads = readdirSync('/proc/self/task').map((thread) => {
      const fields = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8').split(') ')[1]!.split(' ');
      return Number(fields[16]);
    });
    let session: number | null = null;
    try {
      session = Number(/nice (-?\d+)/.exec(readFileSync('/proc/self/autogroup', 'utf8'))?.[1] ?? null);
    } catch {
      // This kernel has no autogroups.
    }
    return { threads: [...new Set(threads)], session };
  },
});
