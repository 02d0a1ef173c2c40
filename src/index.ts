/** What modules with kinds import: `import { defineKind } from 'heddle'`. */
export { PartialFailure } from './dispatch/kind/completion.ts';
export type { EarlierResult, KindContext, KindTask } from './dispatch/kind/context.ts';
export { defineKind } from './dispatch/kind/define-kind.ts';
export type { KindDefinition, KindOptions, RetryOptions, UncheckedKindOptions } from './dispatch/kind/define-kind.ts';
export { into, parallel, sequential, task } from './dispatch/kind/nodes.ts';
export type { ContainerNode, Node, NodeOptions, Parent, Placed, TaskNode, TaskOptions } from './dispatch/kind/nodes.ts';
export type { SchemaInput, SchemaOutput, StandardSchema } from './dispatch/kind/standard-schema.ts';
export type { JsonObject, JsonValue } from './domain/json.ts';
export type { CompletionPolicy, ContainerMode } from './domain/workflow.ts';
