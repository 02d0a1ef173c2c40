import { RECON_DEFAULTS, type TcpOptions } from '@heddle/recon/options';
import type { PortRecord } from '@heddle/recon/records';
import { parsePorts } from '@heddle/recon/targets/ports';
import { scanTcp } from '@heddle/recon/tcp/scan';
import { defineKind } from '@heddle/kit';
import { targetsByAddress } from './aims.ts';
import { scanGenerator, type GeneratorOptions } from './generator.ts';
import { generatorSchema } from './generator-input.ts';
import { TCP_SYN } from './kind-names.ts';
import { partsOf } from './parts.ts';
import { runEndpointScan } from './run-endpoint-scan.ts';
import type { ScanKindOptions } from './run-scan.ts';
import { readTcpMembers, TCP_MEMBERS, tcpSchema, type TcpInput, type TcpMembers } from './scan-input.ts';

const TIMEOUT_SECS = 6 * 3600;

/** `TcpSyn`: finds open ports, with SYN packets if the process is permitted, else with full connections. */
export function tcpSyn(options: ScanKindOptions) {
  return defineKind({
    name: TCP_SYN.scan,
    input: tcpSchema,
    concurrency: options.concurrency,
    timeout_secs: TIMEOUT_SECS,
    run: (input, context) =>
      runEndpointScan<PortRecord>({
        options,
        input,
        context,
        start: (endpoints, environment) => scanTcp(tcpOptions(input, endpoints), environment),
        countOf: ({ state }) => state,
      }),
  });
}

/** `TcpSynGenerator`: divides a scan of ports into `TcpSyn` tasks. */
export function tcpSynGenerator(options: Pick<GeneratorOptions<TcpMembers>, 'policy' | 'models' | 'clock'>) {
  return scanGenerator<TcpMembers>({
    ...options,
    family: TCP_SYN,
    schema: generatorSchema({ members: TCP_MEMBERS, read: readTcpMembers }),
    targetReaderOf: () => targetsByAddress,
    partsOf: ({ own, division }, targets, seed) =>
      partsOf({ targets, ports: parsePorts(own.ports).length, tasks_max: division.tasks_max, seed }),
  });
}

function tcpOptions(input: TcpInput, endpoints: TcpOptions['endpoints']): TcpOptions {
  const { method, states, banner, concurrency, settings } = input;
  const usual = method === 'connect' ? RECON_DEFAULTS.connectTimeoutMs : RECON_DEFAULTS.synTimeoutMs;
  const timeoutMs = settings.timeout_ms ?? usual;
  return { endpoints, method, states, banner, concurrency, retries: settings.retries, timeoutMs };
}
