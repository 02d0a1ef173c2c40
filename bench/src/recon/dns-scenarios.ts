import type { SubjectName } from '../registry.ts';
import type { Measurement } from '../results.ts';
import type { Participant, Scenario } from '../scenario.ts';
import type { LookupRequest } from '../subject.ts';
import { startNameServer } from './dns-server.ts';
import type { RunningNameServer } from './dns-server.ts';

const SUBJECTS: readonly SubjectName[] = ['heddle-dns', 'dnsperf', 'node-dns'];

/** Addresses of names from one authoritative server with one thread, which limits every subject. */
export function dnsScenarios(quick: boolean): Scenario[] {
  const bench = 'recon/dns';
  let server: Promise<RunningNameServer> | null = null;
  const request = async (count: number): Promise<LookupRequest> => {
    server ??= startNameServer();
    const { port, queries } = await server;
    return { port, queries, count };
  };
  const participant = (subject: SubjectName): Participant => ({
    label: subject === 'heddle-dns' ? 'heddle' : subject,
    subject,
    async warmUp(client) {
      await client.lookups(await request(50_000));
    },
    async round(client): Promise<Measurement[]> {
      const { answered, wall_ms, cpu_ms } = await client.lookups(await request(quick ? 100_000 : 500_000));
      return [
        { bench, metric: 'per_s', value: answered / (wall_ms / 1000) },
        { bench, metric: 'per_cpu_s', value: answered / (cpu_ms / 1000) },
        { bench, metric: 'answered', value: answered },
      ];
    },
  });
  return [{ benches: [bench], rounds: quick ? 3 : 7, participants: SUBJECTS.map(participant) }];
}
