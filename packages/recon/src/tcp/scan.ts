import { HeddleError } from '@heddle/base/errors';
import type { ProbeEnvironment, TcpOptions } from '../options.ts';
import type { PortRecord } from '../records.ts';
import { nodeConnector } from './connect/attempt.ts';
import { ConnectScan, type ConnectScanParts } from './connect/connect-scan.ts';
import type { Connector } from './connect/connector.ts';
import { NativeConnector } from './connect/native-connector.ts';
import { openLibc } from './libc.ts';
import { PortReport } from './port-report.ts';
import { RecordQueue } from './record-queue.ts';
import { openSyn } from './syn/open-syn.ts';
import { SynScan } from './syn/syn-scan.ts';

/** Maximum records that wait for the consumer; beyond it sending stops, and only results in progress are added. */
const RECORDS_MAX = 4096;

/**
 * Scans TCP ports and yields one record for each endpoint whose state is among `options.states`, unordered, as they
 * are settled.
 *
 * - Backpressure: sending stops while the consumer does not read. At most 4,096 records wait, plus those of the probes
 *   in progress.
 * - Ending the iteration early releases every socket and timer before it resolves.
 * - `environment.signal` ends the iteration with the signal's reason.
 *
 * @throws HeddleError (VALIDATION_FAILED) with what is missing if `method` is `syn` and not possible; any error of the
 * source of endpoints
 */
export async function* scanTcp(
  options: TcpOptions,
  environment: ProbeEnvironment,
): AsyncGenerator<PortRecord, void, void> {
  environment.signal.throwIfAborted();
  const ending = new AbortController();
  const signal = AbortSignal.any([environment.signal, ending.signal]);
  const queue = new RecordQueue<PortRecord>(RECORDS_MAX);
  const report = new PortReport(environment, queue, { states: options.states, total: options.endpoints.size });
  const aborted = (): void => queue.fail(signal.reason);
  signal.addEventListener('abort', aborted, { once: true });
  const running = run({ options, environment, signal, report }).then(
    () => queue.end(),
    (error: unknown) => queue.fail(error),
  );
  try {
    yield* queue.read();
  } finally {
    ending.abort();
    await running;
  }
}

/** Scans with the requested method, or with the best one that this process may use. */
async function run(parts: Omit<ConnectScanParts, 'connector'>): Promise<void> {
  const { options, environment, report } = parts;
  if (options.method !== 'connect') {
    const syn = await openSyn(environment.random);
    if (syn.available) return new SynScan({ ...parts, openWire: syn.openWire }).run();
    if (options.method === 'syn') {
      throw new HeddleError('VALIDATION_FAILED', `a SYN scan is not possible: ${syn.missing}; use method connect`);
    }
    report.notice('method', `scanning with full connections, which is slower than SYN packets: ${syn.missing}`);
  }
  return new ConnectScan({ ...parts, connector: await connectorFor(options, environment) }).run();
}

/** Uses system calls where they are available and sufficient; the choice affects only speed. */
async function connectorFor(options: TcpOptions, { clock }: ProbeEnvironment): Promise<Connector> {
  if (options.banner) return nodeConnector(clock, true);
  const access = await openLibc();
  return access.available ? new NativeConnector(access.libc, clock, options.concurrency) : nodeConnector(clock, false);
}
