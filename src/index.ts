/** The entry point for modules with kinds and events: `import { defineKind } from 'heddle'`. */
export { FinalFailure } from './kinds/definition/final-failure.ts';
export { RunnersLost } from './kinds/definition/runners-lost.ts';
export { PartialFailure } from './kinds/definition/partial-failure.ts';
export type { EarlierResult, KindContext, KindRunner, KindTask } from './kinds/definition/context.ts';
export { defineKind } from './kinds/definition/define-kind.ts';
export type {
  KindDefinition,
  KindOptions,
  RetryOptions,
  UncheckedKindOptions,
} from './kinds/definition/define-kind.ts';
export { into, parallel, sequential, task } from './kinds/definition/nodes.ts';
export type {
  ContainerNode,
  Node,
  NodeOptions,
  Parent,
  Placed,
  RequirementsOptions,
  TaskNode,
  TaskOptions,
} from './kinds/definition/nodes.ts';
export type { SchemaInput, SchemaOutput, StandardSchema } from './domain/standard-schema.ts';
export type { JsonObject, JsonValue } from './domain/json.ts';
export type { CompletionPolicy, ContainerMode } from './domain/workflow.ts';
export { defineEvent } from './remote/definition/index.ts';
export type {
  EventContext,
  EventDefinition,
  EventOptions,
  EventLog,
  EventProgress,
  UncheckedEventOptions,
} from './remote/definition/index.ts';
