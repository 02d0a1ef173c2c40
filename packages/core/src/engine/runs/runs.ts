import { hashOfText } from '../../domain/stored-hash.ts';
import { findKind } from '../../store/kinds.ts';
import type { Database, Queryable } from '../../store/database.ts';
import { runOf } from '../../store/run-columns.ts';
import { findRecentRuns, findRun, findRuns, type RunFilter } from '../../store/run-lists.ts';
import { findTaskNames } from '../../store/run-tasks.ts';
import { gridOfRuns } from './grid.ts';
import { RECENT_RUNS, type PageAfter, type RunList, type RunNameList, type RunQuery, type Runs } from './port.ts';
import { search } from './search.ts';
import { timelineOf } from './timeline.ts';

/** Runs of one database. */
export function createRuns(database: Database): Runs {
  return {
    list: (query, page) => listRuns(database, query, page),
    get: async (id) => {
      const row = await findRun(database, id);
      return row === null ? null : runOf(row);
    },
    names: (q, page) => listNames(database, q, page),
    grid: (name, limit) => gridOfRuns(database, name, limit),
    timeline: (id) => timelineOf(database, id),
    search: (q, limit) => search(database, q, limit),
    taskNames: (ids) => findTaskNames(database, ids),
  };
}

async function listRuns(database: Queryable, query: RunQuery, { after, limit }: PageAfter): Promise<RunList> {
  const { kind, job, fingerprint, metadata, ...plain } = query;
  const kindId = kind === undefined ? undefined : await findKind(database, kind);
  if (kindId === null) return { runs: [], next: null, examined: 0 };
  const filter: RunFilter = {
    ...plain,
    kind_id: kindId,
    job: job === undefined ? undefined : { id: UUID.test(job) ? job.toLowerCase() : null, name: job },
    fingerprint: fingerprint === undefined ? undefined : hashOfText(fingerprint),
    metadata: metadata === undefined ? undefined : JSON.stringify(metadata),
  };
  const { rows, next, examined } = await findRuns(database, filter, after, limit);
  return { runs: rows.map(runOf), next, examined };
}

async function listNames(
  database: Queryable,
  q: string | undefined,
  { after, limit }: PageAfter,
): Promise<RunNameList> {
  const { rows, next, examined } = await findRuns(database, { q, newest_of_name: true }, after, limit);
  const names = rows.map((row) => row.name!);
  const recent = await findRecentRuns(database, names, RECENT_RUNS);
  return {
    names: rows.map((row) => ({ name: row.name!, last: runOf(row), recent: recent.get(row.name!) ?? [] })),
    next,
    examined,
  };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
