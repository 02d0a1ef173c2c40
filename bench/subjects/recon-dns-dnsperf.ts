import { DNS_NAMES } from '../src/recon/dns-server.ts';
import { measureCommand } from '../src/scan/command.ts';
import type { LookupRequest, LookupRun, Subject } from '../src/subject.ts';

/** It repeats its file as often as requested. */
async function lookups({ port, queries, count }: LookupRequest): Promise<LookupRun> {
  const runs = String(Math.ceil(count / DNS_NAMES));
  let answered = 0;
  const { wall_ms, cpu_ms } = await measureCommand(
    ['dnsperf', '-s', '127.0.0.1', '-p', String(port), '-d', queries, '-n', runs, '-c', '4', '-q', '128'],
    {
      codes: [0],
      onLine(line) {
        const told = /Queries completed:\s+(\d+)/.exec(line)?.[1];
        if (told !== undefined) answered = Number(told);
      },
    },
  );
  if (answered === 0) throw new Error('dnsperf reported no answers');
  return { answered, wall_ms, cpu_ms };
}

export function createSubject(): Subject {
  return { prepare: () => Promise.resolve(), close: () => Promise.resolve(), lookups };
}
