import { Type, type Static } from 'typebox';

import type { Artifact } from '@heddle/core/engine/port';
import { isoTime, Timestamp, Uuid } from './basics.ts';

export const ArtifactDto = Type.Object(
  {
    id: Uuid('The artifact.'),
    task_id: Uuid('The task that stored it.'),
    attempt: Type.Integer({ description: 'The attempt that stored it.' }),
    name: Type.String({ description: 'A relative path, such as `reports/result.xml`.' }),
    size: Type.Integer({ description: 'Bytes.' }),
    sha256: Type.String({ description: 'Of its content, hexadecimal.' }),
    pinned: Type.Boolean({ description: 'Whether it is kept when its task is deleted.' }),
    created_at: Timestamp('When it was stored'),
  },
  { additionalProperties: false, title: 'Artifact' },
);
export type ArtifactDto = Static<typeof ArtifactDto>;

export const ArtifactUrlDto = Type.Object(
  {
    url: Type.String({ description: 'Returns the content without a token.' }),
    expires_at: Timestamp('When it stops working'),
  },
  { additionalProperties: false, title: 'ArtifactUrl' },
);

export const FoundArtifactDto = Type.Object(
  { artifact: ArtifactDto, ...ArtifactUrlDto.properties },
  { additionalProperties: false, title: 'FoundArtifact' },
);
export type FoundArtifactDto = Static<typeof FoundArtifactDto>;

export const PinArtifactDto = Type.Object(
  { pinned: Type.Boolean() },
  { additionalProperties: false, title: 'PinArtifact' },
);

export function artifactToWire({ created_at, ...artifact }: Artifact): ArtifactDto {
  return { ...artifact, created_at: isoTime(created_at) };
}
