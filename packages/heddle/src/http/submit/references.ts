import { HeddleError } from '@heddle/base/errors';
import type { Definition, DefinitionRepository } from '../ports.ts';
import type { FaultList } from '../validation/explain.ts';
import type { NewActionDto, NewActionOrReference } from '../wire/action.ts';
import type { RuleDto, RuleOrReference } from '../wire/rule.ts';
import type { ReadTask } from './read-tasks.ts';

/** The stored definitions that a request references. */
export interface References {
  rules: ReadonlyMap<string, Definition>;
  actions: ReadonlyMap<string, Definition>;
}

const NONE: References = { rules: new Map(), actions: new Map() };

/** Reads the definitions that the tasks reference by name, in at most two queries; none without references. */
export async function findReferences(
  tasks: readonly ReadTask[],
  definitions: DefinitionRepository,
): Promise<References> {
  const rules = new Set<string>();
  const actions = new Set<string>();
  for (const { dto } of tasks) {
    for (const rule of dto.rules ?? []) if ('ref' in rule) rules.add(rule.ref);
    for (const action of actionsOf(dto)) if ('ref' in action) actions.add(action.ref);
  }
  if (rules.size === 0 && actions.size === 0) return NONE;
  const [foundRules, foundActions] = await Promise.all([
    rules.size === 0 ? NONE.rules : definitions.find('rule', [...rules]),
    actions.size === 0 ? NONE.actions : definitions.find('action', [...actions]),
  ]);
  return { rules: foundRules, actions: foundActions };
}

function* actionsOf(dto: ReadTask['dto']): Generator<NewActionOrReference> {
  if (dto.on_start) yield dto.on_start;
  yield* dto.on_success ?? [];
  yield* dto.on_failure ?? [];
  yield* dto.on_cancel ?? [];
}

/** Returns the rule itself, or the stored one of that name; a fault and null if there is none. */
export function resolveRule(rule: RuleOrReference, at: string, found: References, faults: FaultList): RuleDto | null {
  if (!('ref' in rule)) return rule;
  return lookUp(found.rules, rule.ref, at, '/v1/rules', faults) as RuleDto | null;
}

export function resolveAction(
  action: NewActionOrReference,
  at: string,
  found: References,
  faults: FaultList,
): NewActionDto | null {
  if (!('ref' in action)) return action;
  return lookUp(found.actions, action.ref, at, '/v1/actions', faults) as NewActionDto | null;
}

function lookUp(
  found: ReadonlyMap<string, Definition>,
  name: string,
  at: string,
  where: string,
  faults: FaultList,
): unknown {
  const definition = found.get(name);
  if (definition) return definition.body;
  faults.add(`${at}.ref`, `no definition is stored as ${JSON.stringify(name)} under ${where}; store it there first`);
  return null;
}

/** References that were resolved before must resolve again; anything else is a defect. */
export function resolved<Value>(value: Value | null): Value {
  if (value === null) throw new HeddleError('INTERNAL', 'a checked reference is missing');
  return value;
}
