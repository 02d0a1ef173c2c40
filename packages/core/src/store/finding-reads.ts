import { CONFIDENCES, isAtLeast } from '@heddle/base/vocabulary/confidence';
import type { Verification } from '@heddle/base/vocabulary/verdict';
import {
  ELSEWHERE_MAX,
  type FindingDetail,
  type FindingFilter,
  type FindingLine,
  type FindingPlace,
  type FindingState,
  type SamePlace,
  type ScanRun,
  type TrackedFinding,
  type TriageState,
} from '../domain/finding.ts';
import type { Queryable, Statement } from './database.ts';
import { FilteredList } from './filtered-list.ts';
import { TargetRuns } from './target-runs.ts';

const FINDING_COLUMNS = `f.id, t.name as target, encode(f.fingerprint, 'hex') as fingerprint, f.rule_id,
  f.description, f.tags, f.path, f.redacted, f.place, f.occurrences, f.state, f.runs, f.first_seen, f.last_seen, f.gone_at,
  f.triage, f.triaged_by, f.triaged_at, f.triage_comment, encode(f.secret_id, 'hex') as secret_id,
  f.verification`;

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
  text: `select ${FINDING_COLUMNS}, f.context, coalesce((
      select jsonb_agg(to_jsonb(o) order by o.id desc) from (
        select s.id, t.name as target, s.path, (s.place ->> 'line')::integer as line, s.state, s.triage,
          extract(epoch from s.first_seen) * 1000 as first_seen, extract(epoch from s.last_seen) * 1000 as last_seen
        from recon.findings s join recon.scan_target t on t.id = s.target_id
        where s.secret_id = f.secret_id and s.id <> f.id order by s.id desc limit ${ELSEWHERE_MAX}
      ) o), '[]') as elsewhere
    from recon.findings f join recon.scan_target t on t.id = f.target_id where f.id = $1`,
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
    // Findings of older versions have none.
    confidences: (at) => `coalesce(f.place ->> 'confidence', 'medium') = any(${at}::text[])`,
    verdict: (at) => `f.verification ->> 'verdict' = ${at}`,
    secret_id: (at) => `f.secret_id = decode(${at}, 'hex')`,
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
  secret_id: string | null;
  verification: Verification | null;
}

interface DetailRecord extends FindingRecord {
  context: FindingLine[];
  elsewhere: SamePlace[];
}

/** What places of older versions lack. */
const PLACE_BEFORE = { confidence: 'medium', confidence_reason: null, key_path: null, key_name: null } as const;

function findingOf<Row extends FindingRecord>(row: Row) {
  const { place, triage, triaged_by, triaged_at, triage_comment, ...columns } = row;
  return {
    ...columns,
    ...PLACE_BEFORE,
    ...place,
    triage: { state: triage, by: triaged_by, at: triaged_at, comment: triage_comment },
  };
}

export async function findFinding(queryable: Queryable, id: string): Promise<FindingDetail | null> {
  const [row] = await queryable.query<DetailRecord>(GET_FINDING, [id]);
  return row === undefined ? null : findingOf(row);
}

/** Returns findings, newest first, at most `limit` after the one with the id `after`. */
export async function listFindings(
  queryable: Queryable,
  filter: FindingFilter,
  after: string | null,
  limit: number,
): Promise<TrackedFinding[]> {
  const { target, rule_id, states, triage, path_prefix, confidence, verdict, secret_id, since } = filter;
  const given = {
    after,
    target,
    rule_id,
    states: states === undefined ? undefined : [...states],
    triage,
    path: path_prefix === '' ? undefined : path_prefix,
    confidences: confidence === undefined ? undefined : CONFIDENCES.filter((each) => isAtLeast(each, confidence)),
    verdict,
    secret_id,
    since: since === undefined ? undefined : new Date(since).toISOString(),
  };
  return (await list.read<FindingRecord>(queryable, given, limit)).map(findingOf);
}
