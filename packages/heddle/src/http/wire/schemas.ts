import { Type, type Static } from 'typebox';

import { Metadata } from './basics.ts';

export const SchemasDto = Type.Object(
  {
    batch: Metadata('Of the body of `POST /task`.'),
    workflow: Metadata('Of the body of `POST /v1/workflows`.'),
    rule: Metadata('Of the body of `PUT /v1/rules/{name}`.'),
    action: Metadata('Of the body of `PUT /v1/actions/{name}`.'),
  },
  { additionalProperties: false, title: 'Schemas' },
);
export type SchemasDto = Static<typeof SchemasDto>;
