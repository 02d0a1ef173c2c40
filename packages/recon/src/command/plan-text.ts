import { grouped } from '@heddle/base/terminal/live-progress';
import { duration, pad } from '@heddle/base/terminal/text';
import type { ProbeProgress } from '../options.ts';
import type { Probe } from './options.ts';
import type { ReconPlan } from './request.ts';

const WORDS = {
  tcp: { endpoints: 'ports', packets: 'packets', found: 'open' },
  dns: { endpoints: 'names', packets: 'queries', found: 'answers' },
  tls: { endpoints: 'endpoints', packets: 'connections', found: 'handshakes' },
} as const;

/** `1,204 of 65,535 ports, 1,300 packets at 998/s, 3 open`. */
export function progressText(probe: Probe): (progress: ProbeProgress, elapsedMs: number) => string {
  const words = WORDS[probe];
  return ({ done, total, sent, found }, elapsedMs) => {
    const share = total > 0 ? `${grouped(done)} of ${grouped(Math.max(done, total))}` : grouped(done);
    const rate = elapsedMs <= 0 ? 0 : Math.round((sent * 1000) / elapsedMs);
    const packets = `${grouped(sent)} ${words.packets} at ${grouped(rate)}/s`;
    return `${share} ${words.endpoints}, ${packets}, ${grouped(found)} ${words.found}`;
  };
}

/** Writes what would be sent, as `name  value` lines. */
export function planText(plan: ReconPlan): string {
  const words = WORDS[plan.probe];
  const endpoints = plan.probe === 'dns' ? 'questions' : words.endpoints;
  const counted = (value: number | null): string =>
    value === null ? 'unknown: standard input is not counted' : grouped(value);
  const limit = (value: number | null): string => (value === null ? 'no limit' : `${grouped(value)}/s`);
  const time =
    plan.packets_max === null
      ? 'unknown'
      : plan.duration_secs_max === null
        ? 'not limited'
        : `at most ${duration(plan.duration_secs_max * 1000)}`;
  const lines: (readonly [string, string])[] = [
    ['targets', grouped(plan.targets)],
    ...(plan.refused > 0 ? [['refused', grouped(plan.refused)] as const] : []),
    ...(plan.ports === null ? [] : [['ports each', grouped(plan.ports)] as const]),
    [endpoints, counted(plan.endpoints)],
    [words.packets, plan.packets_max === null ? 'unknown' : `at most ${grouped(plan.packets_max)}`],
    ['rate', `${limit(plan.rate)}, ${limit(plan.host_rate)} to one host`],
    ['time', time],
    ['seed', String(plan.seed)],
  ];
  return lines.map(([name, value]) => `${pad(name, 15)}${value}\n`).join('') + 'nothing was sent\n';
}
