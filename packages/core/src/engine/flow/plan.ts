import { BRANCHES, branchOf, CONDITIONAL_KIND } from '../../domain/conditional.ts';
import { isUuid } from '@heddle/base/ids';
import { NOTIFICATION_KINDS } from '../../domain/notification/kinds.ts';
import { pathOf, placeOf, quoted, type Place } from '@heddle/base/parse/path';
import type { NewNode } from '@heddle/base/vocabulary/workflow';
import { compileFlowExpression } from '../../expression/cache.ts';
import type { References } from '../../expression/references.ts';
import { nodesRead, unknownNode } from '../notices/check.ts';
import { compileTaskTemplates, isWithinTemplates, standsAboveTemplates } from '../notices/task-templates.ts';
import { flatten, idOf, isContainer, isTask, localIdOf, type FlatNode } from '../trees/flatten.ts';
import { EXPRESSION_MEMBER, EXPRESSIONS_MAX, expressionsOf, type InputExpression } from './expressions.ts';

/** Reads of the expressions of one task. */
export interface TaskReads {
  /** Preceding nodes: their ids by the names that expressions use. */
  nodes: Record<string, string>;
  data: string[];
}

/** Node outside of the given subtree, still to be checked: it must exist in the workflow and precede the new one. */
export interface OutsideRead {
  task_id: string;
  name: string;
  /** Field that names it. */
  field: string;
}

export interface FlowPlan {
  /** By task, for tasks whose input holds expressions. */
  reads: Map<string, TaskReads>;
  outside: OutsideRead[];
  faults: string[];
}

const FAULTS_MAX = 100;

/**
 * Checks the expressions in the inputs of a tree's tasks (syntax, allowed variables, and that every node they read
 * precedes them), the branches of conditionals, and the templates of notifications.
 *
 * @param place path of the tree in faults
 * @param grows the subtree is added to an existing workflow, which may know names that the subtree does not
 */
export function planFlow(root: NewNode, place: Place, grows = false): FlowPlan {
  const plan: FlowPlan = { reads: new Map(), outside: [], faults: [] };
  const list = flatten(root);
  let planner: FlowPlanner | undefined;
  for (const [index, flat] of list.entries()) {
    if (!isTask(flat) || plan.faults.length >= FAULTS_MAX) continue;
    const { task } = flat.node;
    const expressions = expressionsOf(task.kind, task.metadata);
    const notifies = NOTIFICATION_KINDS.has(task.kind);
    if (expressions.length === 0 && task.kind !== CONDITIONAL_KIND && !notifies) continue;
    planner ??= new FlowPlanner(list, place, grows, plan);
    planner.addTask(
      index,
      expressions.filter(({ path }) => !isWithinTemplates(task.kind, path)),
    );
    if (notifies) planner.addTemplates(index, expressions);
  }
  return plan;
}

class FlowPlanner {
  readonly #list: readonly FlatNode[];
  readonly #place: Place;
  readonly #grows: boolean;
  readonly #plan: FlowPlan;
  readonly #indexOf = new Map<string, number>();

  constructor(list: readonly FlatNode[], place: Place, grows: boolean, plan: FlowPlan) {
    this.#list = list;
    this.#place = place;
    this.#grows = grows;
    this.#plan = plan;
    for (const [index, flat] of list.entries()) {
      this.#indexOf.set(idOf(flat), index);
      const name = localIdOf(flat);
      if (name !== null) this.#indexOf.set(name, index);
    }
  }

  addTask(index: number, expressions: readonly InputExpression[]): void {
    const { node } = this.#list[index] as FlatNode & { node: Extract<NewNode, { type: 'task' }> };
    const { task } = node;
    const input = placeOf(this.#placeOf(index), 'input');
    if (task.kind === CONDITIONAL_KIND) this.#checkConditional(index, input);
    if (expressions.length === 0) return;
    if (expressions.length > EXPRESSIONS_MAX) {
      this.#fault(input, `holds ${expressions.length} expressions; at most ${EXPRESSIONS_MAX} are allowed`);
      return;
    }
    if (task.actions.some(({ trigger }) => trigger === 'start')) {
      this.#fault(
        input,
        `holds "${EXPRESSION_MEMBER}", but expressions are not evaluated in tasks that start by a webhook`,
      );
      return;
    }
    const reads: TaskReads = { nodes: {}, data: [] };
    for (const expression of expressions) {
      const at = expression.path.reduce<Place>(placeOf, input);
      const references = this.#compile(expression, at);
      if (references !== null) this.#read(index, references, at, reads);
    }
    this.#plan.reads.set(task.id, reads);
  }

  /** Checks templates at submission; the task renders them when it runs. */
  addTemplates(index: number, expressions: readonly InputExpression[]): void {
    const { kind, metadata } = (this.#list[index] as FlatNode & { node: Extract<NewNode, { type: 'task' }> }).node.task;
    const input = placeOf(this.#placeOf(index), 'input');
    for (const { path } of expressions) {
      const at = path.slice(0, -1).reduce<Place>(placeOf, input);
      if (standsAboveTemplates(kind, path)) {
        this.#fault(at, 'cannot be an expression, since it holds templates; its members may hold expressions');
      } else if (isWithinTemplates(kind, path) && path[0] !== 'payload') {
        this.#fault(at, 'must be a string; write what it reads as {{ expression }}');
      }
    }
    const compiled = compileTaskTemplates(kind, metadata, input);
    if (compiled === null) return;
    if (!compiled.ok) this.#addFaults(compiled.faults);
    else {
      const reads: TaskReads = { nodes: {}, data: [] };
      for (const { at, name } of nodesRead(compiled.notification.expressions)) this.#readNode(index, name, at, reads);
    }
  }

  #compile({ text, alone }: InputExpression, at: Place): References | null {
    if (typeof text !== 'string') {
      this.#fault(at, 'must be a string with an expression');
      return null;
    }
    if (!alone) {
      this.#fault(at, 'must be the only member of its object, which its value replaces');
      return null;
    }
    const compiled = compileFlowExpression(text);
    if (compiled.ok) return compiled.expression.references;
    this.#fault(at, compiled.fault.message);
    return null;
  }

  #read(index: number, references: References, at: Place, reads: TaskReads): void {
    for (const variable of ['nodes', 'data']) {
      const whole = references.get(variable)?.whole_at ?? null;
      if (whole !== null) {
        this.#fault(
          at,
          `"${variable}" is read by name only, as ${variable}.NAME or ${variable}["NAME"] (character ${whole + 1})`,
        );
      }
    }
    for (const name of references.get('data')?.members.keys() ?? []) {
      if (!reads.data.includes(name)) reads.data.push(name);
    }
    for (const name of references.get('nodes')?.members.keys() ?? []) this.#readNode(index, name, at, reads);
  }

  #readNode(index: number, name: string, at: Place, reads: TaskReads): void {
    if (Object.hasOwn(reads.nodes, name)) return;
    const found = this.#indexOf.get(isUuid(name) ? name.toLowerCase() : name);
    if (found !== undefined) {
      if (standsBefore(this.#list, found, index)) reads.nodes[name] = idOf(this.#list[found]!);
      else
        this.#fault(
          at,
          `the node ${quoted(name)} does not precede this task; an expression may only read earlier nodes of its sequences`,
        );
    } else if (this.#grows) {
      this.#plan.outside.push({ task_id: idOf(this.#list[index]!), name, field: pathOf(at) });
    } else {
      const names = [...this.#indexOf.keys()].filter((known) => !isUuid(known));
      this.#fault(at, unknownNode(name, names));
    }
  }

  #checkConditional(index: number, input: Place): void {
    const { node, parent } = this.#list[index] as FlatNode & { node: Extract<NewNode, { type: 'task' }> };
    const { metadata } = node.task;
    if (metadata['when'] === undefined)
      this.#fault(placeOf(input, 'when'), 'is required: an expression that returns true or false');
    else if (!['string', 'boolean', 'object'].includes(typeof metadata['when']) || metadata['when'] === null) {
      this.#fault(placeOf(input, 'when'), 'must be an expression that returns true or false');
    }
    for (const name of Object.keys(metadata)) {
      if (name !== 'when' && !BRANCHES.some((branch) => branch === name)) {
        this.#fault(placeOf(input, name), `is not known; a ${CONDITIONAL_KIND} has when, then and else`);
      }
    }
    let named = 0;
    for (const branch of BRANCHES) {
      const names = branchOf(metadata[branch]);
      const at = placeOf(input, branch);
      if (names === null) this.#fault(at, 'must be the name of a node after this one, or an array of such names');
      named += names?.length ?? 1;
      for (const name of names ?? []) this.#checkBranch(index, parent, name, at);
    }
    if (named === 0) this.#fault(input, 'must name a node in then or else');
  }

  #checkBranch(index: number, parent: number, name: string, at: Place): void {
    const found = this.#indexOf.get(isUuid(name) ? name.toLowerCase() : name);
    const container = parent < 0 ? undefined : this.#list[parent];
    const inSequence = container !== undefined && isContainer(container) && container.node.mode === 'sequential';
    if (!inSequence) {
      this.#fault(at, `names ${quoted(name)}, but this task is not in a sequence that was submitted with it`);
    } else if (found === undefined || this.#list[found]!.parent !== parent || found <= index) {
      this.#fault(at, `names ${quoted(name)}, which is not a later node of the same sequence`);
    }
  }

  #fault(at: Place, message: string): void {
    this.#addFaults([`${pathOf(at)}: ${message}`]);
  }

  #addFaults(faults: readonly string[]): void {
    this.#plan.faults.push(...faults.slice(0, FAULTS_MAX - this.#plan.faults.length));
  }

  #placeOf(index: number): Place {
    const steps: number[] = [];
    for (let at = index; this.#list[at]!.parent >= 0; at = this.#list[at]!.parent) steps.push(this.#list[at]!.position);
    return steps.reverse().reduce<Place>((above, step) => placeOf(placeOf(above, 'children'), step), this.#place);
  }
}

/** Whether the closest common container runs its children in sequence and runs the first one earlier. */
function standsBefore(list: readonly FlatNode[], earlier: number, later: number): boolean {
  let branch = later;
  for (let at = list[later]!.parent; at >= 0; at = list[at]!.parent) {
    if (earlier > at && earlier < list[at]!.end) {
      const container = list[at]!;
      return isContainer(container) && container.node.mode === 'sequential' && earlier < branch;
    }
    branch = at;
  }
  return false;
}
