/** The three kinds of one sort of scan, and the models that it fills. */
export interface ScanFamily {
  generator: string;
  scan: string;
  aggregator: string;
  /** Models that are gone if a complete run did not find them. */
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
