import { measureCommand } from '../src/scan/command.ts';
import type { Subject } from '../src/subject.ts';

export function createSubject(): Subject {
  return {
    prepare: () => Promise.resolve(),
    close: () => Promise.resolve(),
    async scan({ directory, history, rules, threads, planted }) {
      const wanted = new Set(planted);
      const found = new Set<string>();
      const own = rules === 'built-in' ? [] : ['--config', rules];
      const flags = ['--no-banner', '--no-color', '--exit-code', '0', '--report-format', 'json', '--report-path', '-'];
      const scan = ['gitleaks', history ? 'git' : 'dir', directory, ...flags, ...own];
      const run = await measureCommand(['env', `GOMAXPROCS=${threads}`, ...scan], {
        codes: [0],
        onLine(line) {
          const secret = /^\s*"Secret": "(.*)",$/.exec(line)?.[1];
          if (secret !== undefined && wanted.has(secret)) found.add(secret);
        },
      });
      return { ...run, found: found.size };
    },
  };
}
