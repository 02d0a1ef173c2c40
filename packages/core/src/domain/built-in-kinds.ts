import { NOTIFICATION_KINDS } from './notification/kinds.ts';

/** Built-in kinds, run by servers or by workers that name them. */
export const BUILT_IN_KINDS: readonly string[] = [
  'Command',
  'Conditional',
  'DnsScan',
  'DnsScanAggregator',
  'DnsScanGenerator',
  'ErrorNotification',
  'Filter',
  'FilterChanges',
  'FilterModels',
  'GenericNotification',
  'InsertData',
  'ListModels',
  'ObjectScan',
  'ObjectScanAggregator',
  'ObjectScanGenerator',
  'RemoteEvent',
  'TaskResultNotification',
  'TcpSyn',
  'TcpSynAggregator',
  'TcpSynGenerator',
  'TlsScan',
  'TlsScanAggregator',
  'TlsScanGenerator',
  'UpsertModels',
];

/** Those that merge findings and models, or move data. */
const DATA_KINDS: ReadonlySet<string> = new Set([
  'DnsScanAggregator',
  'Filter',
  'FilterChanges',
  'FilterModels',
  'InsertData',
  'ListModels',
  'ObjectScanAggregator',
  'TcpSynAggregator',
  'TlsScanAggregator',
  'UpsertModels',
]);

/** Whether a built-in kind needs the database, so that neither runners nor workers without one can run it. */
export function isDatabaseKind(kind: string): boolean {
  return DATA_KINDS.has(kind) || NOTIFICATION_KINDS.has(kind);
}
