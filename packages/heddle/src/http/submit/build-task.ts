import type { JsonObject } from '@heddle/base/json';
import { parseDemand } from '@heddle/core/domain/runner/parse-requirements';
import { settingsOf } from '@heddle/base/vocabulary/task-fields';
import type { Action, ActionTrigger, NewDependency, NewTask } from '@heddle/base/vocabulary/task';
import { actionFromWire, type NewActionOrReference } from '../wire/action.ts';
import type { NewTaskDto } from '../wire/new-task.ts';
import { retryFromWire } from '../wire/retry.ts';
import { dedupeFromWire, ruleFromWire } from '../wire/rule.ts';
import { FaultList } from '../validation/explain.ts';
import { resolveAction, resolved, resolveRule, type References } from './references.ts';

const NO_FAULTS = new FaultList(0);

/** Converts a validated task of a request for the engine. */
export function buildTask(
  dto: NewTaskDto,
  id: string,
  found: References,
  dependencies: readonly NewDependency[],
): NewTask {
  return {
    id,
    local_id: dto.id ?? null,
    name: dto.name,
    kind: dto.kind,
    ...settingsOf('batch', dto),
    delay_ms: Math.round((dto.delay ?? 0) * 1000),
    metadata: (dto.metadata ?? {}) as JsonObject,
    actions: actionsOf(dto, found),
    rules: (dto.rules ?? []).map((rule) => ruleFromWire(resolved(resolveRule(rule, '', found, NO_FAULTS)))),
    dedupe: (dto.dedupe_strategy ?? []).map(dedupeFromWire),
    retry: dto.retry === undefined ? null : retryFromWire(dto.retry),
    ...requirementsOf(dto),
    ...(dto.policy === undefined ? {} : { policy: dto.policy }),
    dependencies,
  };
}

/** Validated before. */
function requirementsOf({ requirements }: NewTaskDto): Pick<NewTask, 'requirements'> {
  return requirements === undefined ? {} : { requirements: parseDemand(requirements, null) };
}

function actionsOf(dto: NewTaskDto, found: References): Action[] {
  const given: [ActionTrigger, readonly NewActionOrReference[]][] = [
    ['start', dto.on_start ? [dto.on_start] : []],
    ['success', dto.on_success ?? []],
    ['failure', dto.on_failure ?? []],
    ['cancel', dto.on_cancel ?? []],
  ];
  return given.flatMap(([trigger, actions]) =>
    actions.map((action) => actionFromWire(resolved(resolveAction(action, '', found, NO_FAULTS)), trigger)),
  );
}
