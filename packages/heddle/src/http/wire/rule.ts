import { Type, type Static } from 'typebox';

import type { DedupeMatcher, Rule } from '@heddle/base/vocabulary/task';
import {
  BATCH_WIRE_STATE,
  statesOfBatchWire,
  type BatchWireState,
  type TaskState,
} from '@heddle/base/vocabulary/task-state';
import { Reference } from './action.ts';
import { COUNT_MAX, oneOf, Status } from './basics.ts';

const Fields = Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
  maxItems: 32,
  uniqueItems: true,
  description: 'Top-level metadata fields whose values must be equal.',
});

const Kind = Type.String({ minLength: 1, maxLength: 100, description: 'Kind of the matching tasks.' });

const RuleMatcher = Type.Object(
  {
    kind: Kind,
    status: oneOf(['Running'], { description: 'Running, which includes Claimed.' }),
    fields: Fields,
  },
  { additionalProperties: false },
);

const Maximum = (description: string) => Type.Integer({ minimum: 1, maximum: COUNT_MAX, description });

/** The misspelling is the API's original one; the correct spelling is accepted, too. */
export const ConcurrencyRuleDto = Type.Object(
  {
    type: oneOf(['Concurency', 'Concurrency']),
    matcher: RuleMatcher,
    max_concurency: Type.Optional(Maximum('Maximum concurrent matching tasks.')),
    max_concurrency: Type.Optional(Maximum('Correct spelling of the same member; use one of the two.')),
  },
  { additionalProperties: false, title: 'ConcurrencyRule' },
);

export const CapacityRuleDto = Type.Object(
  {
    type: oneOf(['Capacity']),
    matcher: RuleMatcher,
    max_capacity: Maximum('Remaining work of the matching running tasks below which another task is admitted.'),
  },
  { additionalProperties: false, title: 'CapacityRule' },
);

export const RuleDto = Type.Union([ConcurrencyRuleDto, CapacityRuleDto]);
export type RuleDto = Static<typeof RuleDto>;

export const RuleOrReference = Type.Union([ConcurrencyRuleDto, CapacityRuleDto, Reference]);
export type RuleOrReference = Static<typeof RuleOrReference>;

export const DedupeDto = Type.Object(
  { kind: Kind, status: Status, fields: Fields },
  { additionalProperties: false, title: 'DedupeStrategy' },
);
export type DedupeDto = Static<typeof DedupeDto>;

/** A rule in its wire form; exactly one spelling of the maximum must be present (`ruleFault` checks it). */
export function ruleFromWire(dto: RuleDto): Rule {
  const matcher = { kind: dto.matcher.kind, fields: dto.matcher.fields };
  if (dto.type === 'Capacity') return { type: 'capacity', matcher, max: dto.max_capacity };
  return { type: 'concurrency', matcher, max: (dto.max_concurrency ?? dto.max_concurency)! };
}

/** Checks that the schema of a rule cannot express: exactly one of two spellings. */
export function ruleFault(dto: RuleDto): { field: string; message: string } | null {
  if (dto.type === 'Capacity') return null;
  const original = dto.max_concurency !== undefined;
  const corrected = dto.max_concurrency !== undefined;
  if (!original && !corrected) return { field: 'max_concurrency', message: 'is required (or max_concurency)' };
  if (original && corrected) {
    return {
      field: 'max_concurrency',
      message: 'is given in both spellings; keep one of max_concurrency, max_concurency',
    };
  }
  return null;
}

export function ruleToWire(rule: Rule): RuleDto {
  const matcher = { kind: rule.matcher.kind, status: 'Running' as const, fields: [...rule.matcher.fields] };
  if (rule.type === 'capacity') return { type: 'Capacity', matcher, max_capacity: rule.max };
  return { type: 'Concurency', matcher, max_concurency: rule.max };
}

/** The states that a dedupe status covers: `Running` includes claimed tasks. */
function dedupeStates(status: BatchWireState): TaskState[] {
  const states = statesOfBatchWire(status);
  return status === 'Running' ? ['claimed', ...states] : states;
}

export function dedupeFromWire(dto: DedupeDto): DedupeMatcher {
  return { kind: dto.kind, states: dedupeStates(dto.status), fields: dto.fields };
}

export function dedupeToWire(matcher: DedupeMatcher): DedupeDto {
  const last = matcher.states.at(-1);
  return {
    kind: matcher.kind,
    status: last === undefined ? 'Pending' : BATCH_WIRE_STATE[last],
    fields: [...matcher.fields],
  };
}
