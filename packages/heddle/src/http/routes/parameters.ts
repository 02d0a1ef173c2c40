import { Type, type Static } from 'typebox';

import type { HttpConfig } from '../ports.ts';
import { Uuid } from '../wire/basics.ts';
import { REFERENCE_NAME } from '../wire/action.ts';

const PAGE_MAX = 2_147_483_647;

export const TaskParameters = Type.Object({ task_id: Uuid('The task.') }, { additionalProperties: false });
export const BatchParameters = Type.Object({ batch_id: Uuid('The batch.') }, { additionalProperties: false });
export const WorkflowParameters = Type.Object({ workflow_id: Uuid('The workflow.') }, { additionalProperties: false });
export const RunParameters = Type.Object(
  { run_id: Uuid('The batch or the workflow.') },
  { additionalProperties: false },
);
export const ContainerParameters = Type.Object(
  { workflow_id: Uuid('The workflow.'), container_id: Uuid('One of its containers.') },
  { additionalProperties: false },
);
export const DeliveryParameters = Type.Object({ delivery_id: Uuid('The delivery.') }, { additionalProperties: false });
export const NameParameters = Type.Object(
  {
    name: Type.String({
      pattern: REFERENCE_NAME,
      patternMeaning: '1 to 100 of the characters A-Z a-z 0-9 . _ -, the first a letter or digit',
      description: 'The name of the definition.',
    }),
  },
  { additionalProperties: false },
);

/** Query parameters that a handle adds to the URL of a task. */
export const HandleQuery = Type.Object(
  {
    attempt: Type.Optional(Type.Integer({ minimum: 0, description: 'With a handle: its attempt.' })),
    signature: Type.Optional(Type.String({ maxLength: 200, description: 'With a handle: its signature.' })),
  },
  { additionalProperties: false },
);

export const SubmitQuery = Type.Object(
  {
    batch_name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        pattern: '^[^\\u0000-\\u001f\\u007f]*$',
        patternMeaning: 'string without control characters',
        description: 'Display name of the batch, shown in lists and in the console.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const NoQuery = Type.Object({}, { additionalProperties: false });

export function pageProperties(pagination: HttpConfig['pagination']) {
  return {
    page: Type.Optional(Type.Integer({ minimum: 0, maximum: PAGE_MAX, default: 0, description: 'Page, from 0.' })),
    page_size: pageSize(pagination),
  };
}

export function pageSize(pagination: HttpConfig['pagination']) {
  return Type.Optional(
    Type.Integer({ minimum: 1, maximum: pagination.max, default: pagination.default, description: 'Items per page.' }),
  );
}

export function pageOf(
  query: { page?: number; page_size?: number },
  pagination: HttpConfig['pagination'],
): { offset: number; limit: number } {
  const limit = query.page_size ?? pagination.default;
  return { offset: (query.page ?? 0) * limit, limit };
}

/** Ids are stored in lower case; callers may use upper case. */
export function idOf(parameters: Static<typeof TaskParameters>): string {
  return parameters.task_id.toLowerCase();
}
