import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

import { defineEvent } from '@heddle/kit/event';

/** Returns the error code of an attempt; null if it succeeded. */
function codeOf(attempt: () => unknown): string | null {
  try {
    attempt();
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

function spawned(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { detached: true, stdio: 'ignore', env: {} });
    child.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'));
    child.once('spawn', () => {
      child.unref();
      resolve('started');
    });
  });
}

export default [
  defineEvent({
    name: 'processes.fork-bomb',
    run: async () => {
      const script =
        'const {spawn} = require("node:child_process"); for (;;) try { spawn(process.execPath, ["-e", process.argv[1], process.argv[1]], {detached: true, stdio: "ignore"}).on("error", () => {}); } catch {}';
      for (let count = 0; count < 20; count += 1) {
        const became = await spawned(process.execPath, ['-e', script, script]);
        if (became !== 'started') return { became };
      }
      await new Promise(() => setInterval(() => undefined, 1_000));
      return null;
    },
  }),
  defineEvent({
    name: 'processes.daemon',
    run: async () => ({ became: await spawned('/bin/sleep', ['1000']) }),
  }),
  defineEvent({
    name: 'processes.daemon-holds-pipes',
    run: () => {
      const { error } = spawnSync('/bin/sh', ['-c', 'setsid sleep 1000 & exit 0'], { stdio: 'ignore' });
      const child = spawn('/bin/sleep', ['1000'], { detached: true, stdio: 'inherit' });
      child.on('error', () => undefined);
      return { refused: error !== undefined };
    },
  }),
  defineEvent({
    name: 'processes.many-threads',
    run: async () => {
      const { Worker } = await import('node:worker_threads');
      let failures = 0;
      await new Promise<void>((resolve) => {
        for (let count = 0; count < 200; count += 1) {
          try {
            new Worker('setInterval(() => {}, 1000)', { eval: true }).on('error', () => {
              failures += 1;
              resolve();
            });
          } catch {
            failures += 1;
            resolve();
          }
        }
      });
      return { failures: failures > 0 };
    },
  }),
  defineEvent({
    name: 'processes.kill-parent',
    run: (args) => ({
      parent: codeOf(() => process.kill(args['parent'] as number, 'SIGKILL')),
      own: codeOf(() => process.kill(process.ppid, 'SIGKILL')),
    }),
  }),
  defineEvent({
    name: 'processes.others',
    run: () => {
      const others = readFileSync('/proc/self/stat', 'utf8').split(' ')[0];
      return { pid: Number(others), parent: process.ppid };
    },
  }),
];
