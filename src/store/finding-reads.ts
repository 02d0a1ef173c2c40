import type {
  FindingFilter,
  FindingPlace,
  FindingState,
  ScanRun,
  ScanTarget,
  TrackedFinding,
  TriageState,
} from '../domain/finding.ts';
import type { Queryable, Statement } from './database.ts';

export const FINDING_COLUMNS = `f.id, t.name as target, encode(f.fingerprint, 'hex') as fingerprint, f.rule_id,
  f.description, f.tags, f.path, f.redacted, f.place, f.occurrences, f.state, f.runs, f.first_seen, f.last_seen, f.gone_at,
  f.triage, f.triaged_by, f.triaged_at, f.triage_comment`;

export const RUN_COLUMNS = `r.id, t.name as target, r.number, r.started_at, r.ended_at, r.complete,
  r.new_findings as new, r.known_findings as known, r.gone_findings as gone, r.by_rule`;

const GET_FINDING: Statement = {
  name: 'findings.get',
  text: `select ${FINDING_COLUMNS} from recon.findings f join recon.scan_target t on t.id = f.target_id where f.id = $1`,
};

const LIST_TARGETS: Statement = {
  name: 'findings.list_targets',
  text: `select ${RUN_COLUMNS}, t.runs
    from (select * from recon.scan_target order by name limit $1 offset $2) t
    left join recon.scan_run r on r.target_id = t.id and r.number = t.runs
    order by t.name`,
};

/** Cuts what is compared by index; the whole prefix is compared after it. */
const PATH_INDEXED = 200;

/** What each filter adds to the statement, so that what is not asked for does not keep an index from being used. */
const CONDITIONS = {
  after: (at) => `f.id < ${at}::uuid`,
  target: (at) => `f.target_id = (select id from recon.scan_target where name = ${at})`,
  rule_id: (at) => `f.rule_id = ${at}`,
  states: (at) => `f.state = any(${at}::text[])`,
  triage: (at) => `f.triage = ${at}`,
  path: (at) => `left(f.path, ${PATH_INDEXED}) collate "C" >= left(${at}, ${PATH_INDEXED})
      and left(f.path, ${PATH_INDEXED}) collate "C" < left(${at}, ${PATH_INDEXED}) || chr(1114111)
      and starts_with(f.path, ${at})`,
  since: (at) => `f.first_seen >= ${at}::timestamptz`,
} satisfies Record<string, (parameter: string) => string>;

type Condition = keyof typeof CONDITIONS;

const statements = new Map<string, Statement>();

/** The statement of a set of filters: as many as there are sets in use. Newest findings first; `$1` is the limit. */
function listOf(conditions: readonly Condition[]): Statement {
  const name = ['findings.list', ...conditions].join('.');
  const known = statements.get(name);
  if (known !== undefined) return known;
  const where = conditions.map((each, index) => CONDITIONS[each](`$${index + 2}`)).join(' and ');
  const text = `select ${FINDING_COLUMNS} from (
      select * from recon.findings f ${where === '' ? '' : `where ${where}`} order by f.id desc limit $1) f
    join recon.scan_target t on t.id = f.target_id order by f.id desc`;
  const statement = { name, text };
  statements.set(name, statement);
  return statement;
}

export interface FindingRecord {
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

export function findingOf(row: FindingRecord): TrackedFinding {
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

/** Newest first, at most `limit` after the one with the id `after`. */
export async function listFindings(
  queryable: Queryable,
  filter: FindingFilter,
  after: string | null,
  limit: number,
): Promise<TrackedFinding[]> {
  const { target, rule_id, states, triage, path_prefix, since } = filter;
  const given: Record<Condition, unknown> = {
    after,
    target,
    rule_id,
    states: states === undefined ? undefined : [...states],
    triage,
    path: path_prefix === '' ? undefined : path_prefix,
    since: since === undefined ? undefined : new Date(since).toISOString(),
  };
  const present = (Object.keys(CONDITIONS) as Condition[]).filter(
    (each) => given[each] !== undefined && given[each] !== null,
  );
  const values = present.map((each) => given[each]);
  return (await queryable.query<FindingRecord>(listOf(present), [limit, ...values])).map(findingOf);
}

type TargetRecord = { target: string; runs: number } & (Omit<ScanRun, 'target'> | { id: null });

/** By name, each with its latest run. */
export async function listTargets(
  queryable: Queryable,
  page: { offset: number; limit: number },
): Promise<ScanTarget[]> {
  const rows = await queryable.query<TargetRecord>(LIST_TARGETS, [page.limit, page.offset]);
  return rows.map(({ runs, ...run }) => ({ target: run.target, runs, last_run: run.id === null ? null : run }));
}
