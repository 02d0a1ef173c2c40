import { Type, type Static } from 'typebox';

import { NewActionDto } from './action.ts';
import { Timestamp } from './basics.ts';
import { RuleDto } from './rule.ts';

export const RuleDefinitionDto = Type.Object(
  { name: Type.String(), rule: RuleDto, updated_at: Timestamp('When it was last stored') },
  { additionalProperties: false, title: 'RuleDefinition' },
);
export type RuleDefinitionDto = Static<typeof RuleDefinitionDto>;

export const ActionDefinitionDto = Type.Object(
  { name: Type.String(), action: NewActionDto, updated_at: Timestamp('When it was last stored') },
  { additionalProperties: false, title: 'ActionDefinition' },
);
export type ActionDefinitionDto = Static<typeof ActionDefinitionDto>;
