import type {
  FindingFilter,
  FindingPlace,
  FindingState,
  ScanRun,
  TrackedFinding,
  TriageState,
} from '../domain/finding.ts';
import type { Queryable, Statement } from './database.ts';
import { FilteredList } from './filtered-list.ts';
import { TargetRuns } from './target-runs.ts';

const FINDING_COLUMNS = `f.id, t.name as target, encode(f.fingerprint, 'hex') as fingerprint, f.rule_id,
  f.description, f.tags, f.path, f.redacted, f.place, f.occurrences, f.state, f.runs, f.first_seen, f.last_seen, f.gone_at,
  f.triage, f.triaged_by, f.triaged_at, f.triage_comment`;

export const findingRuns = new TargetRuns<ScanRun>({
  name: 'findings',
  targets: 'recon.scan_target',
  runs: 'recon.scan_run',
  rows: 'recon.findings',
  runColumns: `r.id, t.name as target, r.number, r.started_at, r.ended_at, r.complete,
    r.new_findings as new, r.known_findings as known, r.gone_findings as gone, r.by_rule`,
  // Its coverage is still to be marked.
  keptRuns: 'r.number = t.covered_run',
});

const GET_FINDING: Statement = {
  name: 'findings.get',
  text: `select ${FINDING_COLUMNS} from recon.findings f join recon.scan_target t on t.id = f.target_id where f.id = $1`,
};

/** Prefix length compared by index; the whole prefix is compared after it. */
const PATH_INDEXED = 200;

const list = new FilteredList({
  name: 'findings.list',
  table: 'recon.findings',
  alias: 'f',
  columns: FINDING_COLUMNS,
  targets: 'recon.scan_target',
  conditions: {
    after: (at) => `f.id < ${at}::uuid`,
    target: (at) => `f.target_id = (select id from recon.scan_target where name = ${at})`,
    rule_id: (at) => `f.rule_id = ${at}`,
    states: (at) => `f.state = any(${at}::text[])`,
    triage: (at) => `f.triage = ${at}`,
    path: (at) => `left(f.path, ${PATH_INDEXED}) collate "C" >= left(${at}, ${PATH_INDEXED})
      and left(f.path, ${PATH_INDEXED}) collate "C" < left(${at}, ${PATH_INDEXED}) || chr(1114111)
      and starts_with(f.path, ${at})`,
    since: (at) => `f.first_seen >= ${at}::timestamptz`,
  },
});

interface FindingRecord {
  id: string;
  target: string;
  fingerprint: string;
  rule_id: string;
  description: string;
  tags: string[];
  path: string;
  redacted: string;
  place: FindingPlace;
  occurrences: number;
  state: FindingState;
  runs: number;
  first_seen: number;
  last_seen: number;
  gone_at: number | null;
  triage: TriageState;
  triaged_by: string | null;
  triaged_at: number | null;
  triage_comment: string | null;
}

function findingOf(row: FindingRecord): TrackedFinding {
  const { place, triage, triaged_by, triaged_at, triage_comment, ...columns } = row;
  return {
    ...columns,
    ...place,
    triage: { state: triage, by: triaged_by, at: triaged_at, comment: triage_comment },
  };
}

export async function findFinding(queryable: Queryable, id: string): Promise<TrackedFinding | null> {
  const [row] = await queryable.query<FindingRecord>(GET_FINDING, [id]);
  return row === undefined ? null : findingOf(row);
}

/** Returns findings, newest first, at most `limit` after the one with the id `after`. */
export async function listFindings(
  queryable: Queryable,
  filter: FindingFilter,
  after: string | null,
  limit: number,
): Promise<TrackedFinding[]> {
  const { target, rule_id, states, triage, path_prefix, since } = filter;
  const given = {
    after,
    target,
    rule_id,
    states: states === undefined ? undefined : [...states],
    triage,
    path: path_prefix === '' ? undefined : path_prefix,
    since: since === undefined ? undefined : new Date(since).toISOString(),
  };
  return (await list.read<FindingRecord>(queryable, given, limit)).map(findingOf);
}
