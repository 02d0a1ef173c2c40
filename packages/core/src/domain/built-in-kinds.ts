import { NOTIFICATION_KINDS } from './notification/kinds.ts';

/** Built-in kinds, run by servers or by workers that name them, and what they do. */
export const BUILT_IN_DESCRIPTIONS: Readonly<Record<string, string>> = {
  Command: 'Runs a program in a jail, a container or as a process, and keeps what it prints and its files.',
  Conditional: 'Evaluates an expression, and disables the nodes of the branch that is not taken.',
  DnsScan: 'Resolves names, or looks up addresses.',
  DnsScanAggregator: 'Combines the results of the DNS scans before it.',
  DnsScanGenerator: 'Divides names into DNS scans.',
  ErrorNotification: 'Notifies about the failures before it.',
  Filter: 'Keeps the items of earlier results for which an expression is true.',
  FilterChanges: 'Lists models that a run of a scan found new, changed or gone.',
  FilterModels: 'Lists stored models for which an expression is true.',
  GenericNotification: 'Sends a notification by webhook, Slack-compatible message or e-mail.',
  InsertData: 'Stores data that later tasks of the workflow read by name.',
  ListModels: 'Lists stored hosts, services, names and certificates.',
  ObjectScan: 'Scans files, git histories or buckets for secrets.',
  ObjectScanAggregator:
    'Combines the results of the scans for secrets before it, and compares them with the previous run.',
  ObjectScanGenerator: 'Divides files, git histories or buckets into scans for secrets.',
  RemoteEvent: 'Runs a signed task on an executor.',
  TaskResultNotification: 'Notifies about the results before it.',
  TcpSyn: 'Finds open ports.',
  TcpSynAggregator: 'Combines the results of the port scans before it.',
  TcpSynGenerator: 'Divides networks into port scans.',
  TlsScan: 'Inspects certificates and TLS endpoints.',
  TlsScanAggregator: 'Combines the results of the TLS scans before it.',
  TlsScanGenerator: 'Divides endpoints into TLS scans.',
  UpsertModels: 'Stores hosts, services, names and certificates, and compares them with the previous run.',
};

export const BUILT_IN_KINDS: readonly string[] = Object.keys(BUILT_IN_DESCRIPTIONS);

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
