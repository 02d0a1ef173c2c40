/** The entry point for modules with kinds and events: `import { defineKind } from '@heddle/kit'`. */
export { FinalFailure } from './final-failure.ts';
export { RunnersLost } from './runners-lost.ts';
export { PartialFailure } from './partial-failure.ts';
export type { EarlierResult, KindContext, KindRunner, KindTask } from './context.ts';
export type { KindLogger } from './kind-logger.ts';
export { defineKind } from './define-kind.ts';
export type { KindDefinition, KindOptions, RetryOptions, UncheckedKindOptions } from './define-kind.ts';
export { into, parallel, sequential, task } from './nodes.ts';
export type {
  ContainerNode,
  Node,
  NodeOptions,
  Parent,
  Placed,
  RequirementsOptions,
  TaskNode,
  TaskOptions,
} from './nodes.ts';
export type { SchemaInput, SchemaOutput, StandardSchema } from '@heddle/base/standard-schema';
export type { JsonObject, JsonValue } from '@heddle/base/json';
export type { CompletionPolicy, ContainerMode } from '@heddle/base/vocabulary/workflow';
export { defineEvent } from './event/index.ts';
export type {
  EventContext,
  EventDefinition,
  EventOptions,
  EventLog,
  EventProgress,
  UncheckedEventOptions,
} from './event/index.ts';
