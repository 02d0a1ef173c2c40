import { placeOf } from '@heddle/base/parse/path';
import { requirementFaults } from '@heddle/core/domain/runner/check-requirements';
import type { KnownClasses } from '@heddle/core/domain/runner/parse-requirements';
import { elementPath } from '@heddle/base/json/path';
import type { FaultList } from '../validation/explain.ts';
import type { NewActionOrReference } from '../wire/action.ts';
import { METADATA_MAX_BYTES } from '../wire/new-task.ts';
import { ruleFault } from '../wire/rule.ts';
import type { ActionCheck } from './check-action.ts';
import { TASKS_PATH, type ReadTask } from './read-tasks.ts';
import { resolveAction, resolveRule, type References } from './references.ts';

/** Checks that a schema cannot express for one task: sizes in bytes, addresses, rules that need other fields. */
export function checkTask(
  task: ReadTask,
  found: References,
  actions: ActionCheck,
  classes: KnownClasses,
  faults: FaultList,
): void {
  const { dto, path } = task;
  if (dto.requirements !== undefined) {
    const place = placeOf(placeOf(null, TASKS_PATH), task.index);
    faults.addAll(requirementFaults({ ...dto, startsByWebhook: dto.on_start !== undefined }, place, classes));
  }
  if (dto.metadata !== undefined) checkMetadataSize(dto.metadata, `${path}.metadata`, faults);
  const checkAction = (action: NewActionOrReference, at: string): void => {
    const body = resolveAction(action, at, found, faults);
    if (body !== null) actions.check(body, at, faults);
  };
  if (dto.on_start) checkAction(dto.on_start, `${path}.on_start`);
  for (const trigger of ['on_success', 'on_failure', 'on_cancel'] as const) {
    dto[trigger]?.forEach((action, index) => checkAction(action, elementPath(`${path}.${trigger}`, index)));
  }
  dto.rules?.forEach((rule, index) => {
    const at = elementPath(`${path}.rules`, index);
    const body = resolveRule(rule, at, found, faults);
    if (body === null) return;
    const fault = ruleFault(body);
    if (fault) faults.add(`${at}.${fault.field}`, fault.message);
    if (body.type === 'Capacity' && dto.expected_count === undefined) {
      faults.add(`${path}.expected_count`, 'is required, because a capacity rule counts remaining work');
    }
  });
}

/** Upper bound of the bytes of one character of JSON. */
const BYTES_PER_CODE_UNIT = 3;

export function checkMetadataSize(metadata: Record<string, unknown>, path: string, faults: FaultList): void {
  const text = JSON.stringify(metadata);
  if (text.length * BYTES_PER_CODE_UNIT <= METADATA_MAX_BYTES) return;
  const bytes = Buffer.byteLength(text);
  if (bytes <= METADATA_MAX_BYTES) return;
  faults.add(path, `must have at most ${METADATA_MAX_BYTES} bytes as JSON, not ${bytes}; store large data elsewhere`);
}
