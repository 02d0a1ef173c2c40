import { measureCommand } from '../src/scan/command.ts';
import type { Subject } from '../src/subject.ts';

export function createSubject(): Subject {
  return {
    prepare: () => Promise.resolve(),
    close: () => Promise.resolve(),
    scan({ directory, rules, threads }) {
      const own = rules === 'built-in' ? [] : ['--config', rules];
      const flags = ['--no-banner', '--no-color', '--exit-code', '0', '--report-format', 'json', '--report-path', '-'];
      return measureCommand(['env', `GOMAXPROCS=${threads}`, 'gitleaks', 'dir', directory, ...flags, ...own], {
        codes: [0],
      });
    },
  };
}
