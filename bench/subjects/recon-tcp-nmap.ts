import { measureCommand } from '../src/scan/command.ts';
import type { Subject } from '../src/subject.ts';

const OPEN = /(\d+)\/open\/tcp/g;

export function createSubject(): Subject {
  return {
    prepare: () => Promise.resolve(),
    close: () => Promise.resolve(),
    async scanPorts({ method }) {
      const open: number[] = [];
      const scan = method === 'syn' ? '-sS' : '-sT';
      const run = await measureCommand(['nmap', scan, '-n', '-Pn', '-T4', '-p-', '-oG', '-', '127.0.0.1'], {
        codes: [0],
        onLine(line) {
          for (const [, port] of line.matchAll(OPEN)) open.push(Number(port));
        },
      });
      return { wall_ms: run.wall_ms, cpu_ms: run.cpu_ms, open };
    },
  };
}
