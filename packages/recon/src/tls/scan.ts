import { HeddleError } from '@heddle/base/errors';
import type { ProbeEnvironment, ProbeProgress, TlsOptions } from '../options.ts';
import type { TlsRecord } from '../records.ts';
import { CertificateReader } from './certificate-record.ts';
import { probeEndpoint } from './endpoint-probe.ts';
import { LocalShortage } from './local-shortage.ts';
import { ProbeKeys } from './key-exchange.ts';
import { probePool } from './probe-pool.ts';
import { TrustStore } from './trust.ts';

const PROGRESS_MS = 250;
const PROTOCOL_BYTES_MAX = 255;
const PROTOCOLS_MAX = 32;

/**
 * Yields one record for each endpoint, as they are settled. At most `concurrency` connections are open, and as many
 * records wait to be read; nothing new starts while the consumer does not read. Ending the iteration closes all
 * connections.
 *
 * @throws HeddleError VALIDATION_FAILED for invalid options; the signal's reason when it aborts
 */
export async function* scanTls(
  options: TlsOptions,
  environment: ProbeEnvironment,
): AsyncGenerator<TlsRecord, void, undefined> {
  checkOptions(options);
  const shared = {
    options,
    environment,
    keys: new ProbeKeys(environment.random),
    shortage: new LocalShortage(environment, options.timeoutMs),
    certificates: new CertificateReader(new TrustStore(options.roots)),
  };
  const progress = new Progress(options, environment);
  const onConnection = (): void => progress.sent();
  const records = probePool({
    endpoints: options.endpoints,
    concurrency: options.concurrency,
    signal: environment.signal,
    run: (endpoint, signal) => probeEndpoint(endpoint, { ...shared, signal, onConnection }),
  });
  for await (const record of records) {
    progress.settled(record);
    yield record;
  }
  progress.report();
}

function checkOptions({ alpn, concurrency, timeoutMs }: TlsOptions): void {
  const faults: string[] = [];
  if (!Number.isSafeInteger(concurrency) || concurrency < 1) faults.push('concurrency: must be at least 1');
  if (!(timeoutMs > 0)) faults.push('timeoutMs: must be more than 0');
  if (alpn.length > PROTOCOLS_MAX) faults.push(`alpn: at most ${PROTOCOLS_MAX} protocols`);
  for (const name of alpn) {
    const isUsable = /^[\x21-\x7e]+$/.test(name) && name.length <= PROTOCOL_BYTES_MAX;
    if (!isUsable) faults.push(`alpn: ${JSON.stringify(name)} must be 1 to ${PROTOCOL_BYTES_MAX} printable characters`);
  }
  if (faults.length > 0) throw new HeddleError('VALIDATION_FAILED', faults.join('; '), { details: faults });
}

class Progress {
  readonly #environment: ProbeEnvironment;
  readonly #state: ProbeProgress;
  #reportedAt: number;

  constructor({ endpoints }: TlsOptions, environment: ProbeEnvironment) {
    this.#environment = environment;
    this.#state = { done: 0, total: endpoints.size, sent: 0, found: 0 };
    this.#reportedAt = environment.clock.monotonic();
  }

  sent(): void {
    this.#state.sent += 1;
  }

  settled({ probe_status }: TlsRecord): void {
    this.#state.done += 1;
    if (probe_status) this.#state.found += 1;
    if (this.#environment.clock.monotonic() - this.#reportedAt >= PROGRESS_MS) this.report();
  }

  report(): void {
    this.#reportedAt = this.#environment.clock.monotonic();
    this.#environment.onProgress?.({ ...this.#state });
  }
}
