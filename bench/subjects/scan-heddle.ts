import { fileURLToPath } from 'node:url';
import { measureCommand } from '../src/scan/command.ts';
import type { Subject } from '../src/subject.ts';

const COMMAND = fileURLToPath(new URL('../../packages/heddle/src/cli/main.ts', import.meta.url));

export function createSubject(): Subject {
  return {
    prepare: () => Promise.resolve(),
    close: () => Promise.resolve(),
    async scan({ directory, history, rules, threads, plain, planted }) {
      const wanted = new Set(planted);
      const found = new Set<string>();
      const own = rules === 'built-in' ? [] : ['--rules', rules, '--only-rules'];
      const unpacked = plain ? ['--no-archives', '--decode-depth', '0'] : [];
      const options = ['--json', '--show-secrets', '--no-config', '--no-progress', '--threads', String(threads)];
      const run = await measureCommand(
        [process.execPath, COMMAND, 'scan', ...(history ? ['--git'] : []), directory, ...options, ...unpacked, ...own],
        {
          codes: [0, 1, 3],
          onLine(line) {
            const { secret } = JSON.parse(line) as { secret?: string };
            if (secret !== undefined && wanted.has(secret)) found.add(secret);
          },
        },
      );
      return { ...run, found: found.size };
    },
  };
}
