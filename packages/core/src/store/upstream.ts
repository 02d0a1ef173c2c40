import type { JsonObject, JsonValue } from '@heddle/base/json';
import { taskStateOf } from '@heddle/base/vocabulary/task-state';
import { WORKFLOW_WIRE_STATE } from '@heddle/base/vocabulary/workflow';
import type { Queryable, Statement } from './database.ts';
import { uuidArray } from './transitions.ts';

const READ_FOR_INPUTS: Statement = {
  name: 'flow.read_for_inputs',
  text: `select what, ask, id, value from read_for_inputs($1::uuid[], $2::bigint, $3::bigint)`,
};

const READ_FOR_TEMPLATES: Statement = {
  name: 'notices.read_for_templates',
  text: `select what, ask, id, value from read_for_templates($1::jsonb, $2::bigint, $3::bigint)`,
};

/** Maximum bytes of results and data, as JSON, that one input or one notification may read. */
export const ONE_BYTES_MAX = 8 * 1024 * 1024;
/** Budget of one statement; further requests are read after it is used up. */
const STATEMENT_BYTES_MAX = 32 * 1024 * 1024;

/** Node as expressions see it: tasks have results, containers counts. */
export type ReadNode = { state: string; reason: string | null } & ({ result: JsonValue } | { counts: JsonObject });

/** Data that expressions read, by the names that they use; names that do not exist are absent. */
export interface Upstream {
  nodes: Record<string, ReadNode>;
  data: Record<string, JsonValue>;
  /** Null if the workflow has no name; only for expressions in inputs. */
  workflow_name: string | null;
  /** If it is too much: the counted bytes by name, and nothing else. */
  excess: Record<string, number> | null;
}

/** Reads of the templates of one notification. */
export interface TemplateReads {
  workflow_id: string;
  /** Names or ids of nodes. */
  names: readonly string[];
  data: readonly string[];
}

type ReadRow =
  | { what: 'ask'; ask: number; value: { w: string | null; nodes: Record<string, string>; data: string[] } }
  | { what: 'excess'; ask: number; value: Record<string, number> }
  | { what: 'later'; ask: number }
  | { what: 'workflow'; id: string; value: string | null }
  | { what: 'task'; id: string; value: { state: number; reason: string | null; result: JsonValue } }
  | { what: 'container'; id: string; value: { state: number; reason: string | null; counts: JsonObject } }
  | { what: 'data'; id: string; value: { name: string; list: boolean; data: JsonValue } };

type ReadSome<Ask> = (asks: readonly Ask[]) => Promise<ReadRow[]>;

/** Answers requests in order; one statement reads as many as its budget allows. */
export class UpstreamReader<Ask> {
  readonly #read: ReadSome<Ask>;
  #left: readonly Ask[];
  #answers: Upstream[] = [];

  constructor(asks: readonly Ask[], read: ReadSome<Ask>) {
    this.#left = asks;
    this.#read = read;
  }

  /** Returns the next answer; must not be called again before it resolves. */
  async next(): Promise<Upstream> {
    if (this.#answers.length === 0) {
      const answers = answersOf(await this.#read(this.#left));
      this.#left = this.#left.slice(answers.length);
      this.#answers = answers.reverse();
    }
    const answer = this.#answers.pop();
    // The database always answers the first request of a set.
    if (answer === undefined) throw new Error('expressions read more often than requested');
    return answer;
  }
}

/** Reads the data of the expressions in these tasks' inputs, in order; one statement reads each node once. */
export function readForInputs(queryable: Queryable, taskIds: readonly string[]): UpstreamReader<string> {
  return new UpstreamReader(taskIds, (ids) =>
    queryable.query(READ_FOR_INPUTS, [uuidArray(ids), ONE_BYTES_MAX, STATEMENT_BYTES_MAX]),
  );
}

/**
 * Reads the data of these notifications' templates, in order; one statement reads each node once, archived ones too.
 */
export function readForTemplates(queryable: Queryable, asks: readonly TemplateReads[]): UpstreamReader<TemplateReads> {
  return new UpstreamReader(asks, (some) => {
    const rows = some.map(({ workflow_id: w, names, data }) => ({ w, names, data }));
    return queryable.query(READ_FOR_TEMPLATES, [JSON.stringify(rows), ONE_BYTES_MAX, STATEMENT_BYTES_MAX]);
  });
}

/** Returns the answers of one statement, in the order of the requests. */
function answersOf(rows: readonly ReadRow[]): Upstream[] {
  const nodes = new Map<string, ReadNode>();
  const workflows = new Map<string, string | null>();
  const data = new Map<string, JsonValue>();
  for (const row of rows) {
    if (row.what === 'workflow') workflows.set(row.id, row.value);
    else if (row.what === 'data') {
      const { name, list, data: value } = row.value;
      data.set(dataKey(row.id, name), list ? (value as JsonValue[][]).flat() : value);
    } else if (row.what === 'task' || row.what === 'container') {
      const { state, ...rest } = row.value;
      nodes.set(row.id, { state: WORKFLOW_WIRE_STATE[taskStateOf(state)], ...rest });
    }
  }
  const answers: Upstream[] = [];
  for (const row of rows) {
    if (row.what === 'excess') {
      answers[row.ask] = { nodes: {}, data: {}, workflow_name: null, excess: row.value };
    } else if (row.what === 'ask') {
      const { w, nodes: ids, data: names } = row.value;
      answers[row.ask] = {
        nodes: present(Object.entries(ids).map(([name, id]) => [name, nodes.get(id)])),
        data: present(names.map((name) => [name, w === null ? undefined : data.get(dataKey(w, name))])),
        workflow_name: (w === null ? null : workflows.get(w)) ?? null,
        excess: null,
      };
    }
  }
  return answers;
}

function dataKey(workflowId: string, name: string): string {
  return `${workflowId}.${name}`;
}

function present<Value>(entries: readonly [string, Value | undefined][]): Record<string, Value> {
  return Object.fromEntries(entries.filter((entry): entry is [string, Value] => entry[1] !== undefined));
}
