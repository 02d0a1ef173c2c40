import fc from 'fast-check';
import type { Action, Rule } from '@heddle/base/vocabulary/task';
import {
  TASK_FIELD_NAMES,
  TASK_FIELDS,
  type TaskFieldName,
  type TaskSettings,
} from '@heddle/base/vocabulary/task-fields';
import type {
  CompletionPolicy,
  ContainerMode,
  NewContainerNode,
  NewNode,
  NewTaskNode,
} from '@heddle/base/vocabulary/workflow';
import { COMPLETION_POLICIES, CONTAINER_MODES } from '@heddle/base/vocabulary/workflow';

/** A record as code makes it: fast-check makes some without a prototype. */
export function plainRecord<T extends object>(members: { [Key in keyof T]: fc.Arbitrary<T[Key]> }): fc.Arbitrary<T> {
  return fc.record<T>(members, { noNullPrototype: true });
}

/** Nodes as the parser gives them, with unique ids and local names. */
export function nodeArbitrary(): fc.Arbitrary<NewNode> {
  return fc
    .letrec<{ node: NewNode; container: NewContainerNode; task: NewTaskNode }>((tie) => ({
      node: fc.oneof({ depthSize: 'small' }, tie('task'), tie('container')),
      task: taskArbitrary(),
      container: plainRecord({
        type: fc.constant('container' as const),
        id: fc.uuid(),
        local_id: localId(),
        mode: fc.constantFrom<ContainerMode>(...CONTAINER_MODES),
        policy: policy(),
        children: fc.array(tie('node'), { maxLength: 4 }),
      }),
    }))
    .node.map(withUniqueNames);
}

function policy(): fc.Arbitrary<CompletionPolicy> {
  return fc.constantFrom<CompletionPolicy>(...COMPLETION_POLICIES);
}

function localId(): fc.Arbitrary<string | null> {
  return fc.option(fc.constantFrom('a', 'b', 'name with spaces', 'é', '__proto__'));
}

/** In the order of the triggers, as they are read back. */
const ACTIONS: Action[] = [
  { trigger: 'start', params: { url: 'https://example.com/start', verb: 'Post', body: null, headers: { 'x-a': 'b' } } },
  {
    trigger: 'failure',
    params: { url: 'https://example.com/failed', verb: 'Put' },
    max_tries: 3,
    abandon_after_secs: 60,
  },
  { trigger: 'failure', params: { url: 'https://example.com/told', verb: 'Get', body: { a: [1] } } },
];

const RULES: Rule[] = [
  { type: 'concurrency', matcher: { kind: 'work', fields: ['tenant'] }, max: 2 },
  { type: 'capacity', matcher: { kind: 'other', fields: [] }, max: 100 },
];

/** Each setting with its default and its limits. */
const SETTINGS = Object.fromEntries(
  TASK_FIELD_NAMES.map((name) => {
    const field = TASK_FIELDS[name];
    if ('batchOnly' in field) return [name, fc.constant(field.default)];
    return [name, fc.constantFrom(field.default, ...('values' in field ? field.values : [field.min, field.max]))];
  }),
) as { [Name in TaskFieldName]: fc.Arbitrary<TaskSettings[Name]> };

function taskArbitrary(): fc.Arbitrary<NewTaskNode> {
  return plainRecord({
    type: fc.constant('task' as const),
    policy: policy(),
    disabled: fc.boolean(),
    generates: fc.boolean(),
    task: plainRecord({
      id: fc.uuid(),
      local_id: localId(),
      name: fc.constantFrom('a', 'task', 'work'),
      kind: fc.constantFrom('work', 'WorkGenerator'),
      delay_ms: fc.constantFrom(0, 500, 1001),
      metadata: fc.constantFrom({}, { a: [1, { b: null }], c: 'é' }),
      ...SETTINGS,
      actions: fc.constantFrom<Action[]>([], ACTIONS),
      rules: fc.constantFrom<Rule[]>([], RULES),
      dedupe: fc.constant([]),
      retry: fc.constantFrom(null, { max_attempts: 3, base_ms: 1500, factor: 1.5, max_ms: 60_000, jitter: 0 }),
      dependencies: fc.constant([]),
    }),
  });
}

function withUniqueNames(node: NewNode): NewNode {
  let n = 0;
  const rename = (name: string | null): string | null => (name === null ? null : `${name} ${(n += 1)}`);
  const walk = (at: NewNode): NewNode =>
    at.type === 'task'
      ? { ...at, task: { ...at.task, local_id: rename(at.task.local_id) } }
      : { ...at, local_id: rename(at.local_id), children: at.children.map(walk) };
  return walk(node);
}

/** `levels` containers, each in the one before. */
export function deepChain(levels: number): Record<string, unknown> {
  let node: Record<string, unknown> = { mode: 'parallel', children: [] };
  for (let level = 1; level < levels; level += 1) node = { mode: 'sequential', children: [node] };
  return node;
}
