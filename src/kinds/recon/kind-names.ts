/** The three kinds of one sort of scan, and the models that it fills. */
export interface ScanFamily {
  generator: string;
  scan: string;
  aggregator: string;
  /** What is gone where a run that looked at everything has not seen it. */
  models: readonly string[];
}

export const TCP_SYN: ScanFamily = {
  generator: 'TcpSynGenerator',
  scan: 'TcpSyn',
  aggregator: 'TcpSynAggregator',
  models: ['host', 'service'],
};

export const DNS_SCAN: ScanFamily = {
  generator: 'DnsScanGenerator',
  scan: 'DnsScan',
  aggregator: 'DnsScanAggregator',
  models: ['name'],
};

export const TLS_SCAN: ScanFamily = {
  generator: 'TlsScanGenerator',
  scan: 'TlsScan',
  aggregator: 'TlsScanAggregator',
  models: ['tls', 'certificate'],
};
