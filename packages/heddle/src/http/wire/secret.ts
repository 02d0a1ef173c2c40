import { Type, type Static } from 'typebox';

import type { ListedSecret } from '@heddle/core/engine/port';
import { SECRET_NAME } from '@heddle/base/vocabulary/secret-reference';
import { isoTime, Timestamp } from './basics.ts';

const VALUE_CHARS_MAX = 65_536;
/** Shorter values could not be distinguished from other text in logs. */
const VALUE_CHARS_MIN = 4;
const GRANTS_MAX = 100;

export const SecretNameParameters = Type.Object(
  {
    name: Type.String({
      pattern: SECRET_NAME,
      patternMeaning: '1 to 100 of the characters A-Z 0-9 _, the first a letter',
      description: 'Name of the secret.',
    }),
  },
  { additionalProperties: false },
);

const Grants = Type.Array(
  Type.String({ minLength: 1, maxLength: 300, pattern: '^[^\\u0000]*$', patternMeaning: 'string without NUL' }),
  {
    minItems: 1,
    maxItems: GRANTS_MAX,
    description: 'Who may use it: kinds of tasks, and origins (`https://api.example.com`) that webhooks send it to.',
  },
);

export const SecretDto = Type.Object(
  {
    name: Type.String(),
    grants: Grants,
    readable: Type.Boolean({ description: 'Whether the server has the key with which it was set.' }),
    created_at: Timestamp('When it was first set'),
    updated_at: Timestamp('When it was last set'),
  },
  { additionalProperties: false, title: 'Secret' },
);
export type SecretDto = Static<typeof SecretDto>;

export const NewSecretDto = Type.Object(
  {
    value: Type.String({
      minLength: VALUE_CHARS_MIN,
      maxLength: VALUE_CHARS_MAX,
      pattern: '^[^\\u0000]*$',
      patternMeaning: 'string without NUL',
      description: 'Its value, which no response returns.',
    }),
    grants: Type.Optional(Grants),
  },
  { additionalProperties: false, title: 'NewSecret' },
);
export type NewSecretDto = Static<typeof NewSecretDto>;

export const RotatedSecretsDto = Type.Object(
  { rotated: Type.Integer({ description: 'Secrets that were encrypted with an older key.' }) },
  { additionalProperties: false, title: 'RotatedSecrets' },
);

export function secretToWire({ created_at, updated_at, grants, ...secret }: ListedSecret): SecretDto {
  return { ...secret, grants: [...grants], created_at: isoTime(created_at), updated_at: isoTime(updated_at) };
}

export const WorkSecretsDto = Type.Object(
  { secrets: Type.Record(Type.String(), Type.String(), { description: 'Values by name.' }) },
  { additionalProperties: false, title: 'WorkSecrets' },
);
export type WorkSecretsDto = Static<typeof WorkSecretsDto>;
