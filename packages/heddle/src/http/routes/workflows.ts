import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type, type TSchema } from 'typebox';

import { HeddleError } from '@heddle/base/errors';
import { VALUE_DEPTH_MAX } from '@heddle/base/parse/json-value';
import { placeOf } from '@heddle/base/parse/path';
import { TREE_DEPTH_MAX } from '@heddle/core/domain/parse/tree';
import { parseWorkflow } from '@heddle/core/domain/parse/workflow';
import { tasksIn } from '@heddle/base/vocabulary/workflow';
import { requireSoundFlow } from '@heddle/core/engine/flow/check';
import { requireTemplates } from '@heddle/core/engine/notices/check';
import { kindsForWorkers } from '@heddle/core/engine/known-kinds';
import { requireKnownClasses } from '@heddle/core/engine/runners/check';
import type { Engine, IdempotencyKey, WorkflowSubmitResult } from '@heddle/core/engine/port';
import { MANY_NODES } from '../body-limits.ts';
import { kindsIn, requireCommandScope } from '../submit/check-commands.ts';
import { requireAllowedAddresses, requireAllowedNotifications } from '../submit/check-tree.ts';
import { idempotencyOf, readIdempotencyKey } from '../submit/submission.ts';
import { warnOfKinds } from '../submit/warnings.ts';
import { Count } from '../wire/basics.ts';
import { NewWorkflowDto } from '../wire/new-workflow.ts';
import type { SubmissionWarningDto } from '../wire/submission-warning.ts';
import { SubmittedWorkflowDto, submittedWorkflowToWire, WorkflowIdDto } from '../wire/workflow.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { NoQuery, WorkflowParameters } from './parameters.ts';
import { prefersMinimal } from './submit.ts';
import { requireTree, workflowNotFound } from './transitions.ts';
import { workflowReadRoutes } from './workflow-reads.ts';

/** Each level of a tree is an object and its array of children, inside the document and beside a task's input. */
export const BODY_DEPTH_MAX = 2 * TREE_DEPTH_MAX + VALUE_DEPTH_MAX + 2;

export function workflowRoutes(app: App, context: RouteContext): void {
  submitRoute(app, context);
  workflowReadRoutes(app, context);
  for (const transition of TRANSITIONS) transitionRoute(app, context.engine, transition);
}

const description = `Stores a tree of containers and tasks, all or nothing, and starts it. With a UUID as the \`id\` of the
root a repeat changes nothing and returns 200, as does a repeat with the same header \`Idempotency-Key\`. With
\`Prefer: return=minimal\` the response has only the id.`;

function submitRoute(app: App, context: RouteContext): void {
  const schema = Type.Union([SubmittedWorkflowDto, WorkflowIdDto]);
  app.route({
    method: 'POST',
    url: '/v1/workflows',
    config: { scope: 'submit', bodyDepth: BODY_DEPTH_MAX, body: MANY_NODES },
    schema: {
      ...documented({
        summary: 'Submit a workflow',
        description,
        tag: 'Workflows',
        scope: 'submit',
        answers: {
          200: { description: 'Already stored.', schema },
          201: { description: 'Stored and started.', schema },
        },
        problems: [409, 413, 415, 422, 429],
      }),
      querystring: NoQuery,
      // Checked by the handler, which validates the whole tree before it responds.
      body: NewWorkflowDto,
    },
    handler: (request, reply) => submit(request, reply, context),
  });
}

async function submit(request: FastifyRequest, reply: FastifyReply, context: RouteContext): Promise<unknown> {
  const { body } = request;
  const idempotency = idempotencyOf(readIdempotencyKey(request.headers['idempotency-key']), body);
  const { name, result, warnings } = await storeWorkflow(request, reply, context, { body, idempotency });
  void reply.code(result.replayed ? 200 : 201);
  if (!prefersMinimal(request)) return submittedWorkflowToWire(result, name, warnings);
  void reply.header('preference-applied', 'return=minimal');
  return { id: result.workflow_id };
}

/** Checks and stores a workflow; adds warnings to the reply. */
export async function storeWorkflow(
  request: FastifyRequest,
  reply: FastifyReply,
  context: RouteContext,
  { body, idempotency }: { body: unknown; idempotency: IdempotencyKey | null },
): Promise<{ name: string | null; result: WorkflowSubmitResult; warnings: SubmissionWarningDto[] }> {
  const parsed = parseWorkflow(body, context.newId);
  if (!parsed.ok) throw new HeddleError('VALIDATION_FAILED', undefined, { details: parsed.faults });
  const { name, root, notify } = parsed;
  requireCommandScope(request, kindsIn(root));
  requireAllowedAddresses(root, placeOf(null, 'root'), context.config.ssrf);
  requireAllowedNotifications(notify, null, context.config.ssrf);
  // Checked here as well: a fault must not fail the submissions that share its transaction.
  requireSoundFlow(root, placeOf(null, 'root'));
  requireKnownClasses(root, placeOf(null, 'root'), context.config.resourceClasses ?? null);
  requireTemplates(notify, root);
  const { traceparent } = request.heddle;
  const submission = { name, root, notify, traceparent, idempotency, job_run_id: null };
  const result = await context.operations.submitWorkflow(submission);
  request.heddle.created = result.workflow_id;
  const warnings = await warnOfKinds(context, kindsForWorkers(tasksIn(root)), reply);
  return { name, result, warnings };
}

interface Transition {
  method: 'DELETE' | 'POST';
  path: string;
  summary: string;
  description: string;
  /** The member of the response that counts tasks. */
  counts: 'canceled' | 'paused' | 'resumed' | 'retried';
  conflicts?: boolean;
  run: (engine: Engine, id: string) => Promise<number | null>;
}

const CANCEL = {
  summary: 'Cancel a workflow',
  description: 'Cancels all its unfinished tasks; its containers end with them.',
  counts: 'canceled',
  run: (engine: Engine, id: string) => engine.cancelWorkflow(id),
} as const;

const TRANSITIONS: readonly Transition[] = [
  { method: 'DELETE', path: '', ...CANCEL },
  { method: 'POST', path: '/cancel', ...CANCEL },
  {
    method: 'POST',
    path: '/pause',
    summary: 'Pause a workflow',
    description:
      'Nothing of it starts until it is resumed; nodes that its generators create meanwhile are paused, too.',
    counts: 'paused',
    run: (engine, id) => engine.pauseWorkflow(id),
  },
  {
    method: 'POST',
    path: '/resume',
    summary: 'Resume a workflow',
    description: 'Its tasks return to the states that they would now have.',
    counts: 'resumed',
    run: (engine, id) => engine.resumeWorkflow(id),
  },
  {
    method: 'POST',
    path: '/retry',
    summary: 'Retry a workflow',
    description: `Reopens what failed, timed out or was canceled, and what comes after it in its sequences; everything else
keeps its result, and branches that were not taken stay so unless their conditional runs again. All tasks must have ended.`,
    counts: 'retried',
    conflicts: true,
    run: (engine, id) => engine.retryWorkflow(id),
  },
];

const COUNTED: Readonly<Record<Transition['counts'], TSchema>> = {
  canceled: Count('Tasks that this call canceled.'),
  paused: Count('Tasks that this call paused.'),
  resumed: Count('Tasks that this call resumed.'),
  retried: Count('Unsuccessful tasks that were reopened; what comes after them is reopened, too.'),
};

function transitionRoute(app: App, engine: Engine, transition: Transition): void {
  const { method, path, summary, description: text, counts, conflicts = false, run } = transition;
  const schema = Type.Object({ [counts]: COUNTED[counts] }, { additionalProperties: false });
  app.route({
    method,
    url: `/v1/workflows/:workflow_id${path}`,
    config: { scope: 'operate' },
    schema: {
      ...documented({
        summary,
        description: text,
        tag: 'Workflows',
        scope: 'operate',
        answers: { 200: { description: 'Number of affected tasks.', schema } },
        problems: conflicts ? [404, 409] : [404],
      }),
      params: WorkflowParameters,
      querystring: NoQuery,
    },
    handler: async (request) => {
      const id = request.params.workflow_id.toLowerCase();
      await requireTree(engine, id);
      const count = await run(engine, id);
      if (count === null) throw workflowNotFound(id);
      return { [counts]: count };
    },
  });
}
