import { HeddleError } from '../../domain/errors.ts';
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

/** Records that wait for the consumer; from there on nothing more is sent, and only what is under way is added. */
const RECORDS_MAX = 4096;

/**
 * Scans TCP ports: one record for each endpoint whose state is among `options.states`, in no order, as they are settled.
 *
 * - Backpressure: a consumer that does not read stops the sending. At most 4,096 records wait, and those of the probes
 *   that were under way.
 * - Ending the iteration early releases every socket and timer before it resolves.
 * - `environment.signal` ends the iteration with the signal's reason.
 *
 * @throws HeddleError (VALIDATION_FAILED) where `method` is `syn` and this process cannot, naming what is missing; what
 *   the source of endpoints threw
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

/** Scans by the method that was asked for, or by the best that this process may use. */
async function run(parts: Omit<ConnectScanParts, 'connector'>): Promise<void> {
  const { options, environment, report } = parts;
  if (options.method !== 'connect') {
    const syn = await openSyn(environment.random);
    if (syn.available) return new SynScan({ ...parts, openWire: syn.openWire }).run();
    if (options.method === 'syn') {
      throw new HeddleError('VALIDATION_FAILED', `a SYN scan is not possible: ${syn.missing}; method connect is`);
    }
    report.notice('method', `scanning by whole connections, which is slower than SYN packets: ${syn.missing}`);
  }
  return new ConnectScan({ ...parts, connector: await connectorFor(options, environment) }).run();
}

/** The system's own calls where they can be had and are enough; nothing but speed depends on it. */
async function connectorFor(options: TcpOptions, { clock }: ProbeEnvironment): Promise<Connector> {
  if (options.banner) return nodeConnector(clock, true);
  const access = await openLibc();
  return access.available ? new NativeConnector(access.libc, clock, options.concurrency) : nodeConnector(clock, false);
}
