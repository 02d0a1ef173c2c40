import type { TaskId, WorkflowId } from '@heddle/base/ids';
import type { NewTask } from '@heddle/base/vocabulary/task';
import type { NewContainerNode } from '@heddle/base/vocabulary/workflow';
import type { ModelOutcome } from './answer.ts';
import { claim } from './claim.ts';
import { expire, failStart, heartbeat, loseDelivery, release, start, tryStart } from './expire.ts';
import type { HeartbeatAnswer, ModelHeartbeat, ModelRelease } from './expire.ts';
import { cancel, pause, resume, retry, retryAfter } from './operate.ts';
import { progress, report, update } from './report.ts';
import type { ModelProgress, ModelReport, ModelUpdate } from './report.ts';
import { copyModel } from './state.ts';
import type { Model } from './state.ts';
import { submit } from './submit.ts';
import { completeGenerators } from './tree-generate.ts';
import { cancelWorkflow, pauseWorkflow, resumeWorkflow, retryWorkflow } from './tree-operate.ts';
import type { WorkflowAnswer } from './tree-operate.ts';
import { createNodes, submitWorkflow } from './tree-submit.ts';
import type { CreationAnswer, ModelCreation } from './tree-submit.ts';

/** All events that can happen to the tasks of an engine. */
export type ModelEvent =
  | { type: 'submit'; workflow_id: WorkflowId; tasks: readonly NewTask[] }
  | { type: 'claim'; ids: readonly TaskId[]; into: 'claimed' | 'running'; lease_ms?: number | null }
  | { type: 'start'; ids: readonly TaskId[] }
  | { type: 'try_start' | 'start_failed'; ids: readonly TaskId[] }
  | { type: 'lose_delivery'; ids: readonly TaskId[] }
  | { type: 'report'; reports: readonly ModelReport[] }
  | { type: 'update'; updates: readonly ModelUpdate[] }
  | { type: 'progress'; reports: readonly ModelProgress[] }
  | { type: 'cancel' | 'pause' | 'resume' | 'retry' | 'retry_after'; ids: readonly TaskId[] }
  | { type: 'expire' }
  | { type: 'heartbeat'; beats: readonly ModelHeartbeat[] }
  | { type: 'release'; tasks: readonly ModelRelease[] }
  | { type: 'submit_workflow'; root: NewContainerNode }
  | { type: 'create_nodes'; creations: readonly ModelCreation[] }
  | { type: 'complete_generators' }
  | { type: WorkflowOperation; workflow_id: WorkflowId };

export type WorkflowOperation = 'cancel_workflow' | 'pause_workflow' | 'resume_workflow' | 'retry_workflow';

export interface Step {
  model: Model;
  /** Expected answers of the engine; empty if the method returns nothing that the model covers. */
  outcomes: ModelOutcome[];
  /** Answers to `progress`. */
  progress: ('applied' | 'terminal' | 'not_found')[];
  heartbeats: HeartbeatAnswer[];
  creations: CreationAnswer[];
  /** Answer to an operation on a workflow. */
  workflow: WorkflowAnswer;
}

/** Returns the model after an event at `now`; the given one is not changed. */
export function step(before: Model, event: ModelEvent, now: number): Step {
  const model = copyModel(before);
  const unanswered = { model, outcomes: [], progress: [], heartbeats: [], creations: [], workflow: null };
  const after = (outcomes: ModelOutcome[] = []): Step => ({ ...unanswered, outcomes });
  switch (event.type) {
    case 'submit':
      submit(model, event.workflow_id, event.tasks, now);
      return after();
    case 'claim':
      claim(model, event.ids, event.into, now, event.lease_ms);
      return after();
    case 'start':
      start(model, event.ids, now);
      return after();
    case 'try_start':
      tryStart(model, event.ids);
      return after();
    case 'start_failed':
      failStart(model, event.ids);
      return after();
    case 'lose_delivery':
      loseDelivery(model, event.ids);
      return after();
    case 'report':
      return after(report(model, event.reports, now));
    case 'update':
      return after(update(model, event.updates, now));
    case 'progress':
      return { ...unanswered, progress: progress(model, event.reports, now) };
    case 'cancel':
      return after(cancel(model, event.ids, now));
    case 'pause':
      return after(pause(model, event.ids, now));
    case 'resume':
      return after(resume(model, event.ids, now));
    case 'retry':
      return after(retry(model, event.ids));
    case 'retry_after':
      return after(retryAfter(model, event.ids));
    case 'expire':
      expire(model, now);
      return after();
    case 'heartbeat':
      return { ...unanswered, heartbeats: heartbeat(model, event.beats, now) };
    case 'release':
      return after(release(model, event.tasks));
    case 'submit_workflow':
      submitWorkflow(model, event.root, now);
      return after();
    case 'create_nodes':
      return { ...unanswered, creations: createNodes(model, event.creations, now) };
    case 'complete_generators':
      completeGenerators(model);
      return after();
    case 'cancel_workflow':
      return { ...unanswered, workflow: cancelWorkflow(model, event.workflow_id, now) };
    case 'pause_workflow':
      return { ...unanswered, workflow: pauseWorkflow(model, event.workflow_id, now) };
    case 'resume_workflow':
      return { ...unanswered, workflow: resumeWorkflow(model, event.workflow_id, now) };
    case 'retry_workflow':
      return { ...unanswered, workflow: retryWorkflow(model, event.workflow_id) };
  }
}
