import { Type, type Static } from 'typebox';

import type { Action, ActionTrigger } from '@heddle/base/vocabulary/task';
import { redactHeaders, redactText } from '@heddle/base/redact';
import { SECRET_NAME } from '@heddle/base/vocabulary/secret-reference';
import { oneOf } from './basics.ts';

export const REFERENCE_NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$';

/** Names a stored rule or action instead of its body. */
export const Reference = Type.Object(
  {
    ref: Type.String({
      pattern: REFERENCE_NAME,
      patternMeaning: 'the name of a stored definition',
      description: 'Name of a definition stored under /v1/rules or /v1/actions.',
    }),
  },
  { additionalProperties: false, title: 'Reference' },
);

const SecretReferenceDto = Type.Object(
  {
    secret: Type.String({
      pattern: SECRET_NAME,
      patternMeaning: 'the name of a secret, such as GITHUB_TOKEN',
      description: 'Name of a secret that is granted to the origin of the address.',
    }),
  },
  { additionalProperties: false, title: 'SecretReference' },
);

const HeaderValue = Type.Union([Type.String({ maxLength: 8192 }), SecretReferenceDto]);

export const WebhookParamsDto = Type.Object(
  {
    url: Type.String({ minLength: 1, maxLength: 4096, description: 'URL of the call: http or https.' }),
    verb: oneOf(['Get', 'Post', 'Put', 'Patch', 'Delete']),
    body: Type.Optional(Type.Unknown({ description: 'JSON sent as the body.' })),
    headers: Type.Optional(
      Type.Record(Type.String(), HeaderValue, {
        maxProperties: 64,
        description: 'Extra headers.',
      }),
    ),
  },
  { additionalProperties: false, title: 'WebhookParams' },
);

export const NewActionDto = Type.Object(
  {
    kind: oneOf(['Webhook']),
    params: WebhookParamsDto,
    max_tries: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'Tries of a delivery before it is dead-lettered.' }),
    ),
    abandon_after_secs: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 604_800,
        description: 'Seconds after the first try when the delivery is abandoned.',
      }),
    ),
  },
  { additionalProperties: false, title: 'NewActionDto' },
);
export type NewActionDto = Static<typeof NewActionDto>;

export const NewActionOrReference = Type.Union([NewActionDto, Reference]);
export type NewActionOrReference = Static<typeof NewActionOrReference>;

export const ActionDto = Type.Object(
  {
    ...NewActionDto.properties,
    trigger: oneOf(['Start', 'End', 'Cancel'], { description: 'The trigger.' }),
    condition: Type.Optional(oneOf(['Success', 'Failure'], { description: 'With `End`: the outcome that fires it.' })),
  },
  { additionalProperties: false, title: 'ActionDto' },
);
export type ActionDto = Static<typeof ActionDto>;

const WIRE_TRIGGER = {
  start: { trigger: 'Start' },
  success: { trigger: 'End', condition: 'Success' },
  failure: { trigger: 'End', condition: 'Failure' },
  cancel: { trigger: 'Cancel' },
} as const satisfies Record<ActionTrigger, Pick<ActionDto, 'trigger' | 'condition'>>;

/** Secrets in headers and in the address are only for the target: readers see only that they are set. */
export function paramsToWire({ url, headers, ...params }: Action['params']): ActionDto['params'] {
  const shown = { ...params, url: redactText(url) };
  return headers === undefined ? shown : { ...shown, headers: redactHeaders(headers) };
}

export function actionToWire(action: Action): ActionDto {
  return {
    kind: 'Webhook',
    ...WIRE_TRIGGER[action.trigger],
    params: paramsToWire(action.params),
    ...(action.max_tries === undefined ? {} : { max_tries: action.max_tries }),
    ...(action.abandon_after_secs === undefined ? {} : { abandon_after_secs: action.abandon_after_secs }),
  };
}

export function actionFromWire(dto: NewActionDto, trigger: ActionTrigger): Action {
  return {
    trigger,
    params: dto.params as Action['params'],
    ...(dto.max_tries === undefined ? {} : { max_tries: dto.max_tries }),
    ...(dto.abandon_after_secs === undefined ? {} : { abandon_after_secs: dto.abandon_after_secs }),
  };
}
