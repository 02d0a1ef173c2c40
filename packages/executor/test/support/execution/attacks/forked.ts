import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';

import { defineEvent } from '@heddle/kit/event';

function linksIn(directory: string): readonly string[] {
  return readdirSync(directory).flatMap((name) => {
    try {
      return [readlinkSync(`${directory}/${name}`)];
    } catch {
      return [];
    }
  });
}

export default [
  defineEvent({
    name: 'forked.look',
    run: () => {
      const found = readdirSync('/tmp');
      writeFileSync('/tmp/left', 'something');
      return {
        isForked: process.execArgv.includes('--single-threaded'),
        random: Math.random(),
        uuid: randomUUID(),
        pid: process.pid,
        found,
        descriptors: linksIn('/proc/self/fd').filter((link) => /^(pipe|socket):/.test(link)),
        sharedMemory: readFileSync('/proc/self/maps', 'utf8')
          .split('\n')
          .filter((line) => /^\S+ .w.s/.test(line)),
        status: readFileSync('/proc/self/status', 'utf8')
          .split('\n')
          .filter((line) => /^(Cap|NoNewPrivs|Seccomp:|Groups)/.test(line)),
      };
    },
  }),
  defineEvent({
    name: 'forked.hold',
    run: (_args, { progress, signal }) => {
      const isForked = process.execArgv.includes('--single-threaded');
      const namespaces = linksIn('/proc/self/ns').filter((link) => !link.startsWith('time:'));
      progress({ message: `${isForked} ${[...new Set(namespaces)].join(' ')}` });
      return new Promise((resolve) => {
        const alive = setInterval(() => undefined, 60_000);
        signal.addEventListener('abort', () => {
          clearInterval(alive);
          resolve(null);
        });
      });
    },
  }),
  defineEvent({
    name: 'forked.worker',
    run: async () => {
      const { Worker } = await import('node:worker_threads');
      return new Worker('').threadId;
    },
  }),
  defineEvent({
    name: 'forked.throwing-handler',
    run: () =>
      new Promise(() => {
        process.removeAllListeners('uncaughtException');
        process.on('uncaughtException', () => {
          throw new Error('the handler fails');
        });
        setTimeout(() => {
          throw new Error('uncaught');
        }, 1);
      }),
  }),
];
