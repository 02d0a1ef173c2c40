import type { SubjectName } from '../registry.ts';
import type { Measurement } from '../results.ts';
import type { Participant, Scenario } from '../scenario.ts';
import type { HandshakeRequest } from '../subject.ts';
import { startTlsServer } from './tls-server.ts';
import type { RunningServer } from './tls-server.ts';

const SUBJECTS: readonly SubjectName[] = ['heddle-tls', 'openssl-s-time', 'node-tls'];

/**
 * One server that all subjects use in turn. It serves one connection at a time and thus limits the rate by wall clock;
 * the rate by processor time shows the capacity of the client.
 */
export function tlsScenarios(quick: boolean): Scenario[] {
  let server: Promise<RunningServer> | null = null;
  const scenario = (bench: string, certificates: boolean): Scenario => {
    const request = async (duration_ms: number): Promise<HandshakeRequest> => {
      server ??= startTlsServer();
      return { port: (await server).port, duration_ms, certificates };
    };
    const participant = (subject: SubjectName): Participant => ({
      label: subject === 'heddle-tls' ? 'heddle' : subject,
      subject,
      async warmUp(client) {
        await client.handshakes(await request(1000));
      },
      async round(client): Promise<Measurement[]> {
        const { count, wall_ms, cpu_ms } = await client.handshakes(await request(quick ? 1000 : 4000));
        return [
          { bench, metric: 'per_s', value: count / (wall_ms / 1000) },
          { bench, metric: 'per_cpu_s', value: count / (cpu_ms / 1000) },
        ];
      },
    });
    return { benches: [bench], rounds: 3, participants: SUBJECTS.map(participant) };
  };
  return [scenario('recon/tls-light', false), scenario('recon/tls-certificates', true)];
}
