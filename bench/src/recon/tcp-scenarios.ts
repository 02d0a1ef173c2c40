import type { SubjectName } from '../registry.ts';
import type { Measurement } from '../results.ts';
import type { Participant, Scenario } from '../scenario.ts';
import type { PortScanRequest } from '../subject.ts';
import { openPorts } from './tcp-listeners.ts';
import type { OpenPorts } from './tcp-listeners.ts';

const SUBJECTS: readonly SubjectName[] = ['heddle-tcp', 'nmap'];
const PORTS = 65_535;

/** All ports of 127.0.0.1, some of them open. */
export function tcpScenarios(quick: boolean): Scenario[] {
  let open: Promise<OpenPorts> | null = null;
  const scenario = (bench: string, method: PortScanRequest['method']): Scenario => {
    const participant = (subject: SubjectName): Participant => ({
      label: subject === 'heddle-tcp' ? 'heddle' : subject,
      subject,
      async warmUp(client) {
        open ??= openPorts(500);
        await open;
        await client.scanPorts({ method });
      },
      async round(client): Promise<Measurement[]> {
        const { ports } = await open!;
        const run = await client.scanPorts({ method });
        const found = new Set(run.open);
        return [
          { bench, metric: 'ports_per_s', value: PORTS / (run.wall_ms / 1000) },
          { bench, metric: 'ports_per_cpu_s', value: PORTS / (run.cpu_ms / 1000) },
          { bench, metric: 'open_found', value: ports.filter((port) => found.has(port)).length },
        ];
      },
    });
    return { benches: [bench], rounds: quick ? 3 : 7, participants: SUBJECTS.map(participant) };
  };
  return [scenario('recon/tcp-syn', 'syn'), scenario('recon/tcp-connect', 'connect')];
}
