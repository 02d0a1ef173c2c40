import { createPace } from '@heddle/recon/targets/pace';
import { createScope } from '@heddle/recon/targets/scope';
import { parseTargets } from '@heddle/recon/targets/target-list';
import { endpoints } from '@heddle/recon/targets/endpoints';
import { scanTcp } from '@heddle/recon/tcp/scan';
import { systemClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import type { Subject } from '../src/subject.ts';

const ALL_PORTS = Array.from({ length: 65_535 }, (_, index) => index + 1);

export function createSubject(): Subject {
  const targets = parseTargets(['127.0.0.1']);
  return {
    prepare: () => Promise.resolve(),
    close: () => Promise.resolve(),
    async scanPorts({ method }) {
      const cpuBefore = process.cpuUsage();
      const startedAt = performance.now();
      const open: number[] = [];
      const environment = {
        clock: systemClock,
        random: systemRandom,
        signal: new AbortController().signal,
        pace: createPace({ clock: systemClock, rate: 1_000_000, hostRate: 1_000_000 }),
      };
      const options = {
        endpoints: endpoints({ targets, ports: ALL_PORTS, seed: 1, scope: createScope() }),
        method,
        states: ['open'] as const,
        retries: 3,
        timeoutMs: 1000,
        concurrency: 256,
        banner: false,
      };
      for await (const { port } of scanTcp(options, environment)) open.push(port);
      const wall_ms = performance.now() - startedAt;
      const { user, system } = process.cpuUsage(cpuBefore);
      return { wall_ms, cpu_ms: (user + system) / 1000, open };
    },
  };
}
