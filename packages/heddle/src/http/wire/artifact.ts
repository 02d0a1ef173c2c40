import { Type, type Static } from 'typebox';

import type { Artifact } from '@heddle/core/engine/port';
import { isoTime, nullable, Timestamp, Uuid } from './basics.ts';
import { Attempt, Holder } from './work.ts';

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
    direct: Type.Boolean({ description: 'Whether it is an address of the object store rather than of a server.' }),
  },
  { additionalProperties: false, title: 'ArtifactUrl' },
);

export const FoundArtifactDto = Type.Object(
  { artifact: ArtifactDto, ...ArtifactUrlDto.properties },
  { additionalProperties: false, title: 'FoundArtifact' },
);
export type FoundArtifactDto = Static<typeof FoundArtifactDto>;

export const NewUploadDto = Type.Object(
  {
    attempt: Attempt,
    holder: Holder,
    name: Type.String({ minLength: 1, maxLength: 500, description: 'A relative path.' }),
    size: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Bytes of the content.' }),
    sha256: Type.String({
      pattern: '^[0-9a-f]{64}$',
      patternMeaning: '64 hexadecimal digits in lower case',
      description: 'Of the content.',
    }),
  },
  { additionalProperties: false, title: 'NewUpload' },
);
export type NewUploadDto = Static<typeof NewUploadDto>;

export const UploadDto = Type.Object(
  {
    upload: nullable(
      Type.Object(
        {
          url: Type.String({ description: 'Where to send the content, with PUT.' }),
          headers: Type.Record(Type.String(), Type.String(), { description: 'Headers that the request must have.' }),
          expires_at: Timestamp('When it stops working'),
        },
        { additionalProperties: false, description: 'Null: send the content to the server.' },
      ),
    ),
  },
  { additionalProperties: false, title: 'Upload' },
);
export type UploadDto = Static<typeof UploadDto>;

export const PinArtifactDto = Type.Object(
  { pinned: Type.Boolean() },
  { additionalProperties: false, title: 'PinArtifact' },
);

export function artifactToWire({ created_at, ...artifact }: Artifact): ArtifactDto {
  return { ...artifact, created_at: isoTime(created_at) };
}
