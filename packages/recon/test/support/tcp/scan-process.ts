import type { TcpOptions } from '../../../src/options.ts';
import type { PortRecord } from '../../../src/records.ts';
import { createPace } from '../../../src/targets/pace.ts';
import { systemClock } from '@heddle/base/clock';
import { collect, endpointsOf, environmentOf, tcpOptions } from './scan-fixture.ts';

export interface ScanRequest {
  targets: readonly { ip: string; ports: readonly number[] }[];
  options: Partial<Omit<TcpOptions, 'endpoints'>>;
  /** Packets per second; unlimited by default. */
  rate?: number;
}

export interface ScanAnswer {
  records: PortRecord[];
  notices: string[];
  sent: number;
  elapsed_ms: number;
  /** Code and message of its failure. */
  error?: { code: string; message: string };
}

if (import.meta.main) {
  const { targets, options, rate } = JSON.parse(process.argv[2]!) as ScanRequest;
  const pace = createPace({ clock: systemClock, rate: rate ?? Infinity, hostRate: Infinity });
  const environment = environmentOf({ pace });
  const endpoints = targets.flatMap(({ ip, ports }) => endpointsOf(ip, ports));
  const startedAt = performance.now();
  let records: PortRecord[] = [];
  let failed: Pick<ScanAnswer, 'error'> = {};
  try {
    records = await collect(tcpOptions(endpoints, options), environment);
  } catch (error) {
    failed = { error: { code: (error as { code?: string }).code ?? '', message: String(error) } };
  }
  const answer: ScanAnswer = {
    records,
    notices: environment.notices,
    sent: environment.progress.sent,
    elapsed_ms: performance.now() - startedAt,
    ...failed,
  };
  console.log(JSON.stringify(answer));
}
