import { COMPLETION_POLICY_CODE } from '@heddle/base/vocabulary/completion-policy';
import { RUN_KINDS_MAX } from '@heddle/base/vocabulary/run';
import type { NewTask, Rule } from '@heddle/base/vocabulary/task';
import { settingsToColumns } from '@heddle/base/vocabulary/task-fields';
import type { RuleLimit, RuleList, RuleSet } from '../store/kinds.ts';
import type { EdgeRow, SpecRow, SubmissionRows, TaskRow } from '../store/submissions.ts';
import type { EngineContext } from './context.ts';
import type { TaskReads } from './flow/plan.ts';
import type { Submission } from './port.ts';
import { storedAction } from './outbox.ts';

/** Effect of a new task's dependencies before it is stored: the number of open gates, or its early end. */
export interface Fate {
  open_gates: number;
  linked: boolean;
  ended?: { state: number; reason: string; cause: string | null };
  place?: TreePlace;
  /** Reads of the expressions in its input, if it holds any. */
  reads?: TaskReads;
}

/** Generator attempt that created a node. */
export interface Generator {
  id: string;
  attempt: number;
}

/** Position of a task in its workflow's tree. */
export interface TreePlace {
  container_id: string;
  position: number;
  policy: number;
  /** Earlier siblings must end first. */
  sealed: boolean;
  generates: boolean;
  generator: Generator | null;
}

const SHAPE_TYPE = { concurrency: 1, capacity: 2 } as const;

/** Numbers of the kinds that some tasks name, and their lists of rules. */
export interface Vocabulary {
  kinds: ReadonlyMap<string, number>;
  rules: ReadonlyMap<readonly Rule[], RuleSet>;
}

/**
 * Ensures that the kinds, rule shapes and lists of rules of these tasks exist, each looked up once. Uses its own connections, so it
 * must not run inside a transaction: many of those at once would deadlock on the pool.
 */
export async function vocabularyOf(
  context: EngineContext,
  submissions: readonly { tasks: readonly NewTask[] }[],
): Promise<Vocabulary> {
  const names = new Set<string>();
  const lists = new Map<readonly Rule[], string>();
  for (const { tasks } of submissions) {
    for (const task of tasks) {
      names.add(task.kind);
      for (const matcher of task.dedupe) names.add(matcher.kind);
      if (task.rules.length === 0 || lists.has(task.rules)) continue;
      lists.set(task.rules, JSON.stringify(task.rules));
      for (const rule of task.rules) names.add(rule.matcher.kind);
    }
  }
  const list = [...names];
  const ids = await context.kinds.ids(list);
  const kinds = new Map(list.map((name, index) => [name, ids[index]!]));
  return { kinds, rules: lists.size === 0 ? new Map() : await ruleSetsOf(context, lists, kinds) };
}

/** Equal lists are looked up once, whatever tasks have them. */
async function ruleSetsOf(
  context: EngineContext,
  lists: ReadonlyMap<readonly Rule[], string>,
  kinds: ReadonlyMap<string, number>,
): Promise<Map<readonly Rule[], RuleSet>> {
  const sets = new Map<string, RuleSet>();
  const unknown: RuleList[] = [];
  for (const [text, list] of new Map([...lists].map(([rules, key]) => [key, rules]))) {
    const known = context.kinds.knownRules(text);
    if (known === undefined) unknown.push({ text, list, limits: await limitsOf(context, list, kinds) });
    else sets.set(text, known);
  }
  if (unknown.length > 0) for (const [text, set] of await context.kinds.addRules(unknown)) sets.set(text, set);
  return new Map([...lists].map(([rules, text]) => [rules, sets.get(text)!]));
}

async function limitsOf(
  context: EngineContext,
  list: readonly Rule[],
  kinds: ReadonlyMap<string, number>,
): Promise<RuleLimit[]> {
  const limits: RuleLimit[] = [];
  for (const { type, matcher, max } of list) {
    const fields = sortedFields(matcher.fields);
    limits.push([await context.kinds.shape(kinds.get(matcher.kind)!, SHAPE_TYPE[type], fields), max]);
  }
  return limits;
}

/** Collects the rows of submissions for one insert. */
export class RowBuilder {
  readonly rows: SubmissionRows;
  readonly #vocabulary: Vocabulary;
  readonly #kinds = new Map<string, number[]>();

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
    this.rows = {
      isPlain: true,
      workflows: [],
      tasks: [],
      specs: [],
      edges: [],
      kindIds: [...vocabulary.kinds.values()],
      auditEntries: [],
    };
  }

  /** @param ended those of its tasks that end at once, because a stored parent failed */
  addWorkflow(submission: Submission, counts: { tasks: number; ended: readonly string[] }, linked: boolean): void {
    const [failed] = counts.ended;
    this.rows.workflows.push({
      id: submission.workflow_id,
      name: submission.name,
      linked,
      task_count: counts.tasks,
      remaining: counts.tasks - counts.ended.length,
      ...(failed === undefined ? {} : { failed_task: failed }),
      kinds: this.kindsOf(submission.workflow_id),
      traceparent: submission.traceparent,
    });
  }

  /** Kinds of the tasks of a workflow, in their order; the list grows as tasks are added. */
  kindsOf(workflowId: string): readonly number[] {
    return this.#kindsOf(workflowId);
  }

  #kindsOf(workflowId: string): number[] {
    let kinds = this.#kinds.get(workflowId);
    if (kinds === undefined) this.#kinds.set(workflowId, (kinds = []));
    return kinds;
  }

  addEdge(edge: EdgeRow): void {
    this.rows.edges.push(edge);
  }

  /** Omits absent members from the row, which saves parsing. */
  addTask(task: NewTask, workflowId: string, fate: Fate): void {
    const kindId = this.#vocabulary.kinds.get(task.kind)!;
    const kinds = this.#kindsOf(workflowId);
    if (kinds.length < RUN_KINDS_MAX && !kinds.includes(kindId)) kinds.push(kindId);
    const row: TaskRow = {
      id: task.id,
      workflow_id: workflowId,
      kind_id: kindId,
      name: task.name,
      ...settingsToColumns(task),
    };
    if (task.local_id !== null) row.local_id = task.local_id;
    if (!isEmpty(task.metadata)) row.metadata = task.metadata;
    if (fate.open_gates > 0) row.open_gates = fate.open_gates;
    if (fate.linked) row.linked = true;
    const ruleSet = this.#vocabulary.rules.get(task.rules)?.id ?? null;
    if (ruleSet !== null) row.rule_set = ruleSet;
    this.rows.tasks.push(row);
    if (this.#addRarities(row, task, fate)) this.rows.isPlain = false;
  }

  /** Adds to the row what only few tasks have; returns false if the task is plain. */
  #addRarities(row: TaskRow, task: NewTask, fate: Fate): boolean {
    if (task.delay_ms > 0) row.delay_ms = task.delay_ms;
    if (task.policy !== undefined && task.policy !== 'FailOnFailure') row.policy = COMPLETION_POLICY_CODE[task.policy];
    if (fate.ended !== undefined) {
      row.ended_as = fate.ended.state;
      row.reason = fate.ended.reason;
      if (fate.ended.cause !== null) row.cause = fate.ended.cause;
    }
    if (fate.place !== undefined) placeInTree(row, fate.place);
    if (fate.reads !== undefined) row.computed = true;
    const rules = this.#vocabulary.rules.get(task.rules);
    const spec = this.#specOf(task, fate.reads);
    if (spec !== null) {
      row.has_spec = true;
      if (task.actions.length > 0) row.has_actions = true;
      if (task.actions.some((action) => action.trigger === 'start')) row.starts_by_webhook = true;
      else if (task.requirements !== undefined) row.needs_runner = true;
      this.rows.specs.push(spec);
    }
    if (rules?.id === null) {
      row.rule_shapes = rules.limits.map(([shape]) => shape);
      row.rule_maxima = rules.limits.map(([, max]) => max);
    }
    return (
      spec !== null ||
      row.delay_ms !== undefined ||
      row.policy !== undefined ||
      fate.ended !== undefined ||
      fate.place !== undefined
    );
  }

  #specOf(task: NewTask, reads: TaskReads | undefined): SpecRow | null {
    const rules = this.#vocabulary.rules.get(task.rules);
    const isPlain = task.actions.length === 0 && rules?.id !== null && task.dedupe.length === 0;
    if (isPlain && task.retry === null && task.requirements === undefined && reads === undefined) return null;
    const spec: SpecRow = { task_id: task.id };
    if (task.actions.length > 0) spec.actions = task.actions.map(storedAction);
    if (rules?.id === null) spec.rules = { list: task.rules, shapes: rules.limits };
    if (task.dedupe.length > 0) spec.dedupe = task.dedupe;
    if (task.retry !== null) spec.retry = task.retry;
    if (reads !== undefined) spec.reads = storedReads(reads);
    if (task.requirements !== undefined) spec.requirements = task.requirements;
    return spec;
  }
}

/** Omits empty values. */
function storedReads({ nodes, data }: TaskReads): Partial<TaskReads> {
  return { ...(isEmpty(nodes) ? {} : { nodes }), ...(data.length === 0 ? {} : { data }) };
}

function placeInTree(row: TaskRow, place: TreePlace): void {
  row.container_id = place.container_id;
  row.position = place.position;
  if (place.policy !== 0) row.policy = place.policy;
  if (place.sealed) row.sealed = true;
  if (place.generates) row.generates = true;
  if (place.generator === null) return;
  row.generator_id = place.generator.id;
  row.generator_attempt = place.generator.attempt;
}

/** Avoids listing the keys, since most tasks of a large set have none or many. */
function isEmpty(metadata: object): boolean {
  for (const _key in metadata) return false;
  return true;
}

export function sortedFields(fields: readonly string[]): string[] {
  return [...new Set(fields)].sort();
}
