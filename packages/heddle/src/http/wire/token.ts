import { Type, type Static } from 'typebox';

import {
  TOKEN_NAME,
  TOKEN_NAME_MAX_CHARS,
  TOKEN_SCOPES,
  tokenState,
  type ApiToken,
  type TokenScope,
} from '@heddle/core/domain/token';
import { isoTime, isoTimeOrNull, nullable, oneOf, Timestamp, Uuid } from './basics.ts';

const LIMITS_MAX = 100;
const LIMIT_CHARS_MAX = 100;
const YEAR_SECS = 31_536_000;

export const TokenScopes = Type.Array(Type.Unsafe<TokenScope>(oneOf([...TOKEN_SCOPES])), { description: 'Scopes.' });

const Limit = (description: string) =>
  nullable(
    Type.Array(
      Type.String({
        minLength: 1,
        maxLength: LIMIT_CHARS_MAX,
        pattern: '^[^\\u0000]*$',
        patternMeaning: 'string without NUL',
      }),
      { minItems: 1, maxItems: LIMITS_MAX, description },
    ),
  );

const Kinds = Limit('Kinds whose tasks it may claim; null: any.');
const Classes = Limit('Classes of the runners that it may register; null: any.');

export const TokenParameters = Type.Object({ token_id: Uuid('The token.') }, { additionalProperties: false });

const tokenProperties = {
  id: Uuid('Id of the token.'),
  name: Type.String({ description: 'Its name, in lists and in the audit log.' }),
  scopes: TokenScopes,
  kinds: Kinds,
  classes: Classes,
  state: oneOf(['live', 'expired', 'revoked'], { description: 'Whether it is usable, and why not.' }),
  created_at: Timestamp('When it was created'),
  expires_at: nullable(Timestamp('When it expires; null: never')),
  last_used_at: nullable(Timestamp('When it was last used, to the minute; null: never')),
};

export const TokenDto = Type.Object(tokenProperties, { additionalProperties: false, title: 'Token' });
export type TokenDto = Static<typeof TokenDto>;

export const CreatedTokenDto = Type.Object(
  { ...tokenProperties, token: Type.String({ description: 'The token itself, which no other response returns.' }) },
  { additionalProperties: false, title: 'CreatedToken' },
);
export type CreatedTokenDto = Static<typeof CreatedTokenDto>;

export const NewTokenDto = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: TOKEN_NAME_MAX_CHARS,
      pattern: TOKEN_NAME,
      patternMeaning: 'string without control characters and without a space at its ends',
      description: 'Its name.',
    }),
    scopes: Type.Array(Type.Unsafe<TokenScope>(oneOf([...TOKEN_SCOPES])), { minItems: 1, description: 'Its scopes.' }),
    kinds: Type.Optional(Kinds),
    classes: Type.Optional(Classes),
    expires_in_secs: Type.Optional(
      nullable(
        Type.Integer({
          minimum: 1,
          maximum: 100 * YEAR_SECS,
          description: 'Its lifetime; null, the default: forever.',
        }),
      ),
    ),
  },
  { additionalProperties: false, title: 'NewToken' },
);
export type NewTokenDto = Static<typeof NewTokenDto>;

export function tokenToWire(token: ApiToken, nowMs: number): TokenDto {
  const { id, name, scopes, kinds, classes } = token;
  return {
    id,
    name,
    scopes: [...scopes],
    kinds: kinds === null ? null : [...kinds],
    classes: classes === null ? null : [...classes],
    state: tokenState(token, nowMs),
    created_at: isoTime(token.created_at),
    expires_at: isoTimeOrNull(token.expires_at),
    last_used_at: isoTimeOrNull(token.last_used_at),
  };
}
