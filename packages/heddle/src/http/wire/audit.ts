import { Type, type Static } from 'typebox';

import type { AuditEntry } from '@heddle/base/vocabulary/audit';
import { isoTime, nullable, Timestamp } from './basics.ts';

export const AuditEntryDto = Type.Object(
  {
    seq: Type.Integer({ description: 'From 1, without gaps.' }),
    at: Timestamp('When it was done'),
    actor: nullable(
      Type.String({
        description:
          'Name of the token, or of the token that opened the session; `oidc:NAME` for a user of the identity provider; `cli:USER` for a command on the database, `task:ID` for a task; null: no token was required.',
      }),
    ),
    action: Type.String({ description: 'Method and route of a call; else the command or use, such as `secret use`.' }),
    object: nullable(Type.String({ description: 'What it was done to: ids and names.' })),
    status: nullable(Type.Integer({ description: 'Status of the response; null if it was no call.' })),
    address: nullable(Type.String({ description: 'Network address of the caller.' })),
    hash: Type.String({ description: 'SHA-256, hexadecimal; it covers the entry and the hash before it.' }),
  },
  { additionalProperties: false, title: 'AuditEntry' },
);
export type AuditEntryDto = Static<typeof AuditEntryDto>;

export function auditEntryToWire({ at, ...entry }: AuditEntry): AuditEntryDto {
  return { ...entry, at: isoTime(at) };
}
