import type { Run } from '@heddle/base/vocabulary/run';
import type { Queryable } from '../../store/database.ts';
import { runOf } from '../../store/run-columns.ts';
import { findRun, findRuns } from '../../store/run-lists.ts';
import { findNamed, findRunIds, findTasksInRange, findTasksNamed, type IdRange } from '../../store/run-search.ts';
import type { SearchHits } from './port.ts';

/** Hexadecimal digits that are taken for the beginning of an id. */
const ID_DIGITS_MIN = 8;
const ID_DIGITS = 32;
/** Runs whose ids begin alike. */
const RUNS_BY_ID_MAX = 5;

/** Finds what has a text in its name, or an id that begins with it; at most `limit` of each type. */
export async function search(database: Queryable, q: string, limit: number): Promise<SearchHits> {
  const range = idRange(q);
  const runs = range === null ? [] : await runsInRange(database, range);
  const tasks = range === null ? [] : await findTasksInRange(database, range, limit);
  const { rows } = await findRuns(database, { q }, null, limit);
  const named = await findTasksNamed(database, q, limit);
  return {
    runs: [...runs, ...rows.map(runOf)].slice(0, limit),
    tasks: [...tasks, ...named.tasks].slice(0, limit),
    others: await findNamed(database, q, limit),
    tasks_examined: named.examined,
  };
}

async function runsInRange(database: Queryable, range: IdRange): Promise<Run[]> {
  const found: Run[] = [];
  for (const id of await findRunIds(database, range, RUNS_BY_ID_MAX)) {
    const row = await findRun(database, id);
    if (row !== null) found.push(runOf(row));
  }
  return found;
}

/** Returns the ids that begin like this; null for a text that is not the beginning of an id. */
function idRange(text: string): IdRange | null {
  if (!/^[0-9a-f]{8}[0-9a-f-]*$/i.test(text)) return null;
  const digits = text.replaceAll('-', '').toLowerCase();
  if (digits.length < ID_DIGITS_MIN || digits.length > ID_DIGITS) return null;
  return { from: asUuid(digits.padEnd(ID_DIGITS, '0')), to: asUuid(digits.padEnd(ID_DIGITS, 'f')) };
}

function asUuid(digits: string): string {
  return [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)].join(
    '-',
  );
}
