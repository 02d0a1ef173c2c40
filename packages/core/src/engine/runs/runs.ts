import { HeddleError } from '@heddle/base/errors';
import { findKind } from '../../store/kinds.ts';
import type { Database, Queryable } from '../../store/database.ts';
import { runOf, type RunCursor } from '../../store/run-columns.ts';
import { findRecentRuns, findRun, findRuns, type RunFilter } from '../../store/run-lists.ts';
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
  };
}

async function listRuns(database: Queryable, query: RunQuery, { after, limit }: PageAfter): Promise<RunList> {
  const cursor = after === null ? null : readCursor(after);
  const { kind, job, metadata, since, until, ...plain } = query;
  const kindId = kind === undefined ? undefined : await findKind(database, kind);
  if (kindId === null) return { runs: [], next: null, examined: 0 };
  const filter: RunFilter = {
    ...plain,
    kind_id: kindId,
    job: job === undefined ? undefined : { id: UUID.test(job) ? job.toLowerCase() : null, name: job },
    metadata: metadata === undefined ? undefined : JSON.stringify(metadata),
    since: since === undefined ? undefined : new Date(since).toISOString(),
    until: until === undefined ? undefined : new Date(until).toISOString(),
  };
  const { rows, next, examined } = await findRuns(database, filter, cursor, limit);
  return { runs: rows.map(runOf), next: next === null ? null : writeCursor(next), examined };
}

async function listNames(
  database: Queryable,
  q: string | undefined,
  { after, limit }: PageAfter,
): Promise<RunNameList> {
  const cursor = after === null ? null : readCursor(after);
  const { rows, next, examined } = await findRuns(database, { q, newest_of_name: true }, cursor, limit);
  const names = rows.map((row) => row.name!);
  const recent = await findRecentRuns(database, names, RECENT_RUNS);
  return {
    names: rows.map((row) => ({ name: row.name!, last: runOf(row), recent: recent.get(row.name!) ?? [] })),
    next: next === null ? null : writeCursor(next),
    examined,
  };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const CURSOR = /^([0-9]{1,16})_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

export function writeCursor({ created_us, id }: RunCursor): string {
  return `${created_us}_${id}`;
}

export function readCursor(text: string): RunCursor {
  const [, time, id] = CURSOR.exec(text) ?? [];
  if (time !== undefined && id !== undefined) return { created_us: Number(time), id };
  throw new HeddleError('INVALID_QUERY', undefined, {
    details: ['after: must be the "next" of an earlier page; start again without it'],
  });
}
