import { measureCommand } from '../src/scan/command.ts';
import type { Subject } from '../src/subject.ts';

export function createSubject(): Subject {
  return {
    prepare: () => Promise.resolve(),
    close: () => Promise.resolve(),
    async scan({ directory, rules, threads, planted }) {
      const wanted = new Set(planted);
      const found = new Set<string>();
      const flags = ['--config', rules, '--no-banner', '--no-color', '--exit-code', '0'];
      const report = ['--report-format', 'json', '--report-path', '-'];
      const scan = ['gitleaks', 'git', directory, ...flags, ...report];
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
