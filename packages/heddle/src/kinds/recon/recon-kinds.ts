import type { ModelBooks, Models } from '@heddle/core/engine/port';
import type { DnsRecord, PortRecord, TlsRecord } from '@heddle/recon/records';
import type { Clock } from '@heddle/base/clock';
import type { Random } from '@heddle/base/random';
import type { KindDefinition } from '@heddle/kit';
import { scanAggregator } from './aggregator.ts';
import { dnsScan, dnsScanGenerator } from './dns-scan.ts';
import { DNS_SCAN, TCP_SYN, TLS_SCAN } from './kind-names.ts';
import { modelsOfName } from './models-of-names.ts';
import { modelsOfPort } from './models-of-ports.ts';
import { modelsOfTls } from './models-of-tls.ts';
import type { ReconPolicy } from './policy.ts';
import type { WatchAttempt } from './run-scan.ts';
import { tcpSyn, tcpSynGenerator } from './tcp-syn.ts';
import { tlsScan, tlsScanGenerator } from './tls-scan.ts';

export interface ReconKindsOptions {
  policy: ReconPolicy;
  /** Null for a worker without a database. */
  models: (ModelBooks & Pick<Models, 'list'>) | null;
  clock: Clock;
  random: Random;
  /** Concurrent tasks of each scanning kind in this process. */
  concurrency: number;
  watch?: WatchAttempt;
}

/** Returns the kinds that send packets, and those that divide scans into tasks. */
export function scanningKinds(options: ReconKindsOptions): KindDefinition[] {
  const { models, ...others } = options;
  const { policy, clock } = options;
  const generating = { policy, models, clock };
  const scanning = { ...others, books: models };
  return [
    tcpSynGenerator(generating),
    tcpSyn(scanning),
    dnsScanGenerator(generating),
    dnsScan(scanning),
    tlsScanGenerator(generating),
    tlsScan(scanning),
  ];
}

/** Returns the kinds that merge records of scans into models. */
export function mergingKinds(books: ModelBooks): KindDefinition[] {
  return [
    scanAggregator<PortRecord>({ family: TCP_SYN, type: 'port', books, modelsOf: modelsOfPort }),
    scanAggregator<DnsRecord>({ family: DNS_SCAN, type: 'dns', books, modelsOf: modelsOfName }),
    scanAggregator<TlsRecord>({ family: TLS_SCAN, type: 'tls', books, modelsOf: modelsOfTls }),
  ];
}
