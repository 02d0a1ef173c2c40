import type { ReportedFinding, TriageChange, TriageOutcome, VerifiedFinding } from '../domain/finding.ts';
import type { Queryable, Statement } from './database.ts';
import { nextAfter, type Marked } from './target-runs.ts';

/**
 * Locks a run and its target: merges go by fingerprint and the marking by id, and could otherwise deadlock.
 */
const LOCK_RUN = `select r.target_id, r.number, r.started_at, t.covered_run
  from recon.scan_run r join recon.scan_target t on t.id = r.target_id where r.id = $1 for no key update of t`;

/**
 * Merges one chunk of a run. A row that the run has counted already is only updated if it is seen more often; one that
 * a later run has seen is left to that run.
 */
const MERGE: Statement = {
  name: 'findings.merge',
  text: `with own as materialized (${LOCK_RUN})
    insert into recon.findings as f (id, target_id, fingerprint, rule_id, description, tags, path, redacted, place,
      context, secret_id, verification, occurrences, state, first_run, last_run, runs, first_seen, last_seen)
    select g.id, r.target_id, decode(g.fingerprint, 'hex'), g.rule_id, g.description, g.tags, g.path, g.redacted, g.place,
      coalesce(g.context, '[]'), decode(g.secret_id, 'hex'), g.verification, g.occurrences, 'new', r.number, r.number, 1, r.started_at, r.started_at
    from own r, jsonb_to_recordset($2::jsonb) g(id uuid, fingerprint text, rule_id text, description text,
      tags jsonb, path text, redacted text, place jsonb, context jsonb, secret_id text, verification jsonb, occurrences integer)
    order by g.fingerprint
    on conflict (target_id, fingerprint) do update set
      occurrences = excluded.occurrences,
      description = excluded.description,
      tags = excluded.tags,
      redacted = excluded.redacted,
      place = case when f.last_run = excluded.last_run then f.place else excluded.place end,
      context = case when f.last_run = excluded.last_run then f.context else excluded.context end,
      secret_id = coalesce(excluded.secret_id, f.secret_id),
      verification = coalesce(excluded.verification, f.verification),
      state = case when f.last_run = excluded.last_run then f.state when f.state = 'gone' then 'new' else 'known' end,
      runs = f.runs + (f.last_run < excluded.last_run)::integer,
      last_run = excluded.last_run,
      last_seen = excluded.last_seen,
      gone_run = null,
      gone_at = null
    where f.last_run < excluded.last_run or (f.last_run = excluded.last_run and f.occurrences < excluded.occurrences)`,
};

const COVER: Statement = {
  name: 'findings.cover',
  text: `update recon.scan_target t set covered_run = greatest(t.covered_run, r.number)
    from recon.scan_run r where r.id = $1 and t.id = r.target_id`,
};

/** Steps visit rows in the order of their ids, so that all steps together read each row once. */
const MARK_GONE: Statement = {
  name: 'findings.mark_gone',
  text: `with own as materialized (${LOCK_RUN}), covering as (
      select r.target_id, c.number, c.started_at
      from own r join recon.scan_run c on c.target_id = r.target_id and c.number = r.covered_run
    ), missed as (
      select f.id from covering c join recon.findings f on f.target_id = c.target_id
      where f.id > $2::uuid and f.state <> 'gone' and f.last_run < c.number order by f.id limit $3 for update of f
    ), marked as (
      update recon.findings f set state = 'gone', gone_run = c.number, gone_at = c.started_at
      from missed m, covering c where f.id = m.id returning f.id
    )
    select count(*) as n, max(id::text) as last from marked`,
};

const FINISH: Statement = {
  name: 'findings.finish',
  text: `with rules as (
      select f.rule_id,
        count(*) filter (where f.last_run = r.number and f.state = 'new') as new,
        count(*) filter (where f.last_run = r.number and f.state = 'known') as known,
        count(*) filter (where f.gone_run = r.number) as gone
      from recon.scan_run r join recon.findings f on f.target_id = r.target_id where r.id = $1
        and (f.last_run = r.number or f.gone_run = r.number)
      group by f.rule_id
    ), counts as (
      select coalesce(sum(new), 0) as new, coalesce(sum(known), 0) as known, coalesce(sum(gone), 0) as gone,
        coalesce((select jsonb_agg(to_jsonb(x) order by x.new + x.known desc, x.rule_id)
          from (select * from rules order by new + known desc, rule_id limit $4) x), '[]') as by_rule
      from rules
    )
    update recon.scan_run r set ended_at = coalesce($3::timestamptz, clock_timestamp()), complete = $2,
      new_findings = c.new, known_findings = c.known, gone_findings = c.gone, by_rule = c.by_rule
    from counts c where r.id = $1`,
};

/** Locks the target first, as merges do. A verdict that is older than the stored one changes nothing. */
const VERIFY: Statement = {
  name: 'findings.verify',
  text: `with own as materialized (
      select t.id from recon.scan_target t where t.name = $1 for no key update of t
    )
    update recon.findings f set verification = g.verification
    from own, jsonb_to_recordset($2::jsonb) g(fingerprint text, verification jsonb)
    where f.target_id = own.id and f.fingerprint = decode(g.fingerprint, 'hex')
      and coalesce(f.verification ->> 'checked_at', '') <= g.verification ->> 'checked_at'
    returning f.id`,
};

/** Locks the targets first, as merges do. */
const TRIAGE: Statement = {
  name: 'findings.triage',
  text: `with own as materialized (
      select t.id from recon.scan_target t
      where t.id in (select target_id from recon.findings where id = any($1::uuid[])) order by t.id for no key update of t
    ), found as materialized (
      select f.id, (f.triage, f.triage_comment) is distinct from ($2::text, $3::text) as changed
      from recon.findings f where f.id = any($1::uuid[]) and f.target_id in (select id from own)
      order by f.id for update of f
    ), written as (
      update recon.findings f set triage = $2, triage_comment = $3, triaged_by = $4,
        triaged_at = coalesce($5::timestamptz, clock_timestamp())
      from found where f.id = found.id and found.changed
    )
    select id, changed from found`,
};

/** Maximum number of rules in a run's counts; findings of further rules are stored, too. */
const RULES_MAX = 1000;

/** Merges findings, each with an id in case it is new; no two with the same fingerprint. */
export async function mergeFindings(
  queryable: Queryable,
  runId: string,
  findings: readonly (ReportedFinding & { id: string })[],
): Promise<void> {
  await queryable.query(MERGE, [runId, JSON.stringify(findings.map(rowOf))]);
}

function rowOf(finding: ReportedFinding & { id: string }) {
  const { line, column, end_line, end_column, entropy, encodings, commit, ...others } = finding;
  const { confidence, confidence_reason, key_path, key_name, ...columns } = others;
  const judged = { confidence, confidence_reason, key_path, key_name };
  return { ...columns, place: { line, column, end_line, end_column, entropy, encodings, commit, ...judged } };
}

/** Keeps what providers said of findings of a target; returns how many of them it has. */
export async function verifyFindings(
  queryable: Queryable,
  target: string,
  findings: readonly VerifiedFinding[],
): Promise<number> {
  return (await queryable.query(VERIFY, [target, JSON.stringify(findings)])).length;
}

export async function coverRun(queryable: Queryable, runId: string): Promise<void> {
  await queryable.query(COVER, [runId]);
}

/** Marks at most `limit` findings after `after` that the latest covering run has not seen; null: no more rows. */
export async function markGone(
  queryable: Queryable,
  runId: string,
  after: string,
  limit: number,
): Promise<string | null> {
  const [marked] = await queryable.query<Marked>(MARK_GONE, [runId, after, limit]);
  return nextAfter(marked, limit);
}

/** Counts what the run saw and closes it. */
export async function finishRun(
  queryable: Queryable,
  runId: string,
  complete: boolean,
  now: string | null,
): Promise<void> {
  await queryable.query(FINISH, [runId, complete, now, RULES_MAX]);
}

/** Triages those of the findings that exist. */
export function triageFindings(
  queryable: Queryable,
  ids: readonly string[],
  { state, comment, by }: TriageChange,
  now: string | null,
): Promise<TriageOutcome[]> {
  return queryable.query<TriageOutcome>(TRIAGE, [[...ids], state, comment, by, now]);
}
