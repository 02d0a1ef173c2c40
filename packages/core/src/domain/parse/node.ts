import { isUuid } from '@heddle/base/ids';
import { settingsOf } from '@heddle/base/vocabulary/task-fields';
import { COMPLETION_POLICIES, CONTAINER_MODES } from '@heddle/base/vocabulary/workflow';
import type { NewContainerNode, NewNode, NewTaskNode } from '@heddle/base/vocabulary/workflow';
import { readActions } from './actions.ts';
import { readInput } from '@heddle/base/parse/json-value';
import type { Members } from '@heddle/base/parse/members';
import { readRetry } from './retry.ts';
import { readRules } from './rules.ts';
import { readSettings, SETTING_MEMBERS } from './settings.ts';
import { requirementConflict } from '../runner/check-requirements.ts';
import { readRequirements } from '../runner/parse-requirements.ts';

export const CONTAINER_MEMBERS = ['id', 'local_id', 'mode', 'policy', 'children'] as const;
export const TASK_MEMBERS = [
  'id',
  'local_id',
  'kind',
  'name',
  'input',
  'policy',
  ...SETTING_MEMBERS,
  'delay',
  'retry',
  'disabled',
  'generator',
  'rules',
  'requirements',
  'on_start',
  'on_success',
  'on_failure',
  'on_cancel',
] as const;

export const LOCAL_ID_CHARS_MAX = 100;
export const KIND_CHARS_MAX = 100;
export const NAME_CHARS_MAX = 255;
const DELAY_MAX_SECS = 31_536_000;

/** Names of a node: its own id, a name of the submitter's, both, or none. */
export interface GivenIds {
  id: string | null;
  local_id: string | null;
}

/**
 * Reads a UUID in `id` as the node's id, any other string as a local name; a node with an id may have a `local_id` too.
 */
export function readIds(node: Members): GivenIds {
  const given = node.text('id', LOCAL_ID_CHARS_MAX);
  const localId = node.text('local_id', LOCAL_ID_CHARS_MAX);
  if (localId !== null && isUuid(localId)) {
    node.fault('local_id', 'must not look like a UUID; give a UUID as id');
  }
  if (given !== null && !isUuid(given)) {
    if (localId !== null) node.fault('local_id', 'conflicts with the local name in id; remove one of the two');
    return { id: null, local_id: given };
  }
  return { id: given?.toLowerCase() ?? null, local_id: localId };
}

/** Reads the container itself; the caller adds its children. */
export function readContainer(node: Members, id: string, localId: string | null): NewContainerNode {
  node.refuseOthers(CONTAINER_MEMBERS);
  node.requireAll('mode');
  return {
    type: 'container',
    id,
    local_id: localId,
    mode: node.oneOf('mode', CONTAINER_MODES) ?? 'sequential',
    policy: readPolicy(node),
    children: [],
  };
}

export function readTask(node: Members, id: string, localId: string | null): NewTaskNode {
  node.refuseOthers(TASK_MEMBERS);
  node.requireAll('kind');
  const kind = node.text('kind', KIND_CHARS_MAX) ?? '';
  // Whether the runner classes exist is checked on submission.
  const requirements = readRequirements(node, null);
  const startsByWebhook = node.has('on_start');
  const conflict = requirements === null ? null : requirementConflict({ kind, startsByWebhook });
  if (conflict !== null) node.fault('requirements', conflict);
  return {
    type: 'task',
    policy: readPolicy(node),
    disabled: node.boolean('disabled') ?? false,
    generates: node.boolean('generator') ?? isGeneratorKind(kind),
    task: {
      id,
      local_id: localId,
      name: node.text('name', NAME_CHARS_MAX) ?? localId ?? kind,
      kind,
      ...settingsOf('tree', readSettings(node)),
      delay_ms: Math.round((node.number('delay', 0, DELAY_MAX_SECS) ?? 0) * 1000),
      metadata: readInput(node.raw('input'), node.at('input'), node.faults),
      actions: readActions(node),
      rules: readRules(node),
      dedupe: [],
      retry: readRetry(node),
      ...(requirements === null ? {} : { requirements }),
      dependencies: [],
    },
  };
}

/** Kind whose tasks are generators unless their node says otherwise. */
export function isGeneratorKind(kind: string): boolean {
  return kind.endsWith('Generator');
}

function readPolicy(node: Members): NewNode['policy'] {
  return node.oneOf('policy', COMPLETION_POLICIES) ?? 'FailOnFailure';
}
