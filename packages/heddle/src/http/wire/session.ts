import { Type, type Static } from 'typebox';

import type { Session } from '@heddle/core/domain/session';
import { grantedScopes, roleOf, ROLES, type Role, type TokenScope } from '@heddle/core/domain/token';
import { isoTime, nullable, oneOf, Timestamp, Uuid } from './basics.ts';
import { TokenScopes } from './token.ts';

const TOKEN_CHARS_MAX = 512;

const RoleName = nullable(
  Type.Unsafe<Role>(
    oneOf([...ROLES], { description: 'The most powerful role whose scopes the user has; null: not even `read`.' }),
  ),
);

export const UserDto = Type.Object(
  {
    name: Type.String({ description: 'Name of the token, or of the user at the identity provider.' }),
    role: RoleName,
    scopes: TokenScopes,
    session_id: nullable(Uuid('The session of the cookie; null with a token.')),
    expires_at: nullable(Timestamp('When the session or the token ends; null: never')),
  },
  { additionalProperties: false, title: 'User' },
);
export type UserDto = Static<typeof UserDto>;

export const LoginStateDto = Type.Object(
  {
    authentication: oneOf(['none', 'required'], { description: 'Whether this server requires a login.' }),
    user: nullable(UserDto),
    logins: Type.Object(
      {
        token: Type.Boolean({ description: 'Whether a token opens a session.' }),
        oidc: nullable(
          Type.Object(
            {
              label: Type.String({ description: 'What the provider is called.' }),
              path: Type.String({ description: 'Where a login begins; `?return_to=` has the path to come back to.' }),
            },
            { additionalProperties: false },
          ),
        ),
      },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false, title: 'LoginState' },
);
export type LoginStateDto = Static<typeof LoginStateDto>;

export const NewSessionDto = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: TOKEN_CHARS_MAX, description: 'A token with the scope `read`.' }) },
  { additionalProperties: false, title: 'NewSession' },
);
export type NewSessionDto = Static<typeof NewSessionDto>;

export const SessionParameters = Type.Object({ session_id: Uuid('The session.') }, { additionalProperties: false });

export const SessionDto = Type.Object(
  {
    id: Uuid('Id of the session.'),
    user: Type.String({ description: 'Name of the token, or of the user at the identity provider.' }),
    role: RoleName,
    login: oneOf(['token', 'oidc'], { description: 'What opened it.' }),
    token_id: nullable(Uuid('The token that opened it.')),
    current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
    created_at: Timestamp('When it was opened'),
    last_used_at: Timestamp('When it was last used, to the minute'),
    expires_at: Timestamp('When it ends, if it does not before for want of use'),
    address: nullable(Type.String({ description: 'Network address of the last use.' })),
    browser: nullable(Type.String({ description: 'The browser, such as `Firefox 140 on Linux`.' })),
  },
  { additionalProperties: false, title: 'Session' },
);
export type SessionDto = Static<typeof SessionDto>;

export function sessionToWire(session: Session, currentId: string | null): SessionDto {
  const { id, name, scopes, token_id, created_at, last_used_at, expires_at, address, browser } = session;
  return {
    id,
    user: name,
    role: roleOf(scopes),
    login: token_id === null ? 'oidc' : 'token',
    token_id,
    current: id === currentId,
    created_at: isoTime(created_at),
    last_used_at: isoTime(last_used_at),
    expires_at: isoTime(expires_at),
    address,
    browser,
  };
}

interface LoggedIn {
  name: string;
  scopes: readonly TokenScope[];
  expires_at: number | null;
}

export function userToWire({ name, scopes, expires_at }: LoggedIn, session_id: string | null): UserDto {
  return {
    name,
    role: roleOf(scopes),
    scopes: grantedScopes(scopes),
    session_id,
    expires_at: expires_at === null ? null : isoTime(expires_at),
  };
}
