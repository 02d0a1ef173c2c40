/** The reference model: the engine's answers, computed in code that is obvious rather than fast. */
export { type WaitingForSlots, idealClaim, judgeClaim } from './claim.ts';
export { countOpenGates, gateOf, restingState } from './readiness.ts';
export { type ModelReport } from './report.ts';
export { equalInFields, remainingWork } from './slots.ts';
export {
  type Model,
  type ModelContainer,
  type ModelTask,
  emptyModel,
  openGates,
  outcomeOf,
  runCounts,
} from './state.ts';
export { type ModelEvent, type Step, type WorkflowOperation, step } from './step.ts';
export { childNodes, containerOf, countChildren, hasEnded, openGenerators, withAncestors } from './tree.ts';
export { createdBy } from './tree-generate.ts';
export { type WorkflowAnswer } from './tree-operate.ts';
export { type ModelCreation } from './tree-submit.ts';
