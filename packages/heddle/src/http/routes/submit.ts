import { Type, type Static } from 'typebox';

import { kindsForWorkers } from '@heddle/core/engine/known-kinds';
import type { IdempotencyKey, Submission, SubmitResult } from '@heddle/core/engine/port';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import { MANY_TASKS } from '../body-limits.ts';
import { recordOf } from '../audit.ts';
import type { Call, CallReply } from '../call.ts';
import { requireCommandScope } from '../submit/check-commands.ts';
import { buildSubmission, idempotencyOf, readIdempotencyKey } from '../submit/submission.ts';
import { TASKS_PATH } from '../submit/read-tasks.ts';
import { warnOfKinds } from '../submit/warnings.ts';
import { NewTaskList } from '../wire/new-task.ts';
import { createdTaskToWire, TaskDto, TaskIdDto, taskToWire } from '../wire/task.ts';
import type { App, RouteContext } from './context.ts';
import { documented } from './document.ts';
import { SubmitQuery } from './parameters.ts';

const BATCH_HEADER = {
  'X-Batch-ID': 'The batch.',
  'X-Warnings': 'Warnings for the submitter: a JSON array of objects with code, kind, did_you_mean and message.',
};

const description = `Creates the tasks of an array as one batch, all or none. Dependencies name local ids (\`id\`) of the same
request, in any order. An empty array results in 204. A task that its dedupe strategy skips is omitted from the
response; if all are, the response is 204. With the header \`Idempotency-Key\` a repeat returns the first response and creates
nothing. With \`Prefer: return=minimal\` the response has only ids.`;

/** The route, which is also served directly. */
export const SUBMIT_ROUTE = {
  method: 'POST',
  url: '/task',
  config: { scope: 'submit', bodyRoot: TASKS_PATH, body: MANY_TASKS },
} as const;

export function submitRoutes(app: App, context: RouteContext): void {
  app.route({
    ...SUBMIT_ROUTE,
    schema: {
      ...documented({
        summary: 'Create tasks',
        description,
        tag: 'Tasks',
        scope: 'submit',
        answers: {
          201: {
            description: 'The created tasks, in the order of the request.',
            schema: Type.Array(Type.Union([TaskDto, TaskIdDto])),
            headers: BATCH_HEADER,
          },
          204: { description: 'Nothing to create.', headers: BATCH_HEADER },
        },
        problems: [413, 415, 422, 429],
      }),
      querystring: SubmitQuery,
      // Checked by the handler, which validates all tasks and their dependencies before it responds.
      body: NewTaskList,
    },
    onRequest: (request, _reply, done) => {
      request.heddle.batchId = context.newId();
      done();
    },
    handler: (request, reply) => submit(request, reply, context),
  });
}

/** Stores the tasks of a request, whose `batchId` becomes the id of their batch; returns the body of the response, if any. */
export async function submit(request: Call, reply: CallReply, context: RouteContext): Promise<unknown> {
  const { body } = request;
  if (Array.isArray(body) && body.length === 0) {
    void reply.code(204);
    return undefined;
  }
  const { submission, result } = await storeTasks(request, reply, context, {
    body,
    name: (request.query as Static<typeof SubmitQuery>).batch_name ?? null,
    idempotency: idempotencyOf(readIdempotencyKey(request.headers['idempotency-key']), body),
    audit_entry: entryOf(request, context),
  });
  request.heddle.audited = result.audited === true;
  void reply.header('x-batch-id', result.workflow_id);
  const created = result.tasks
    .map((task, index) => ({ task, index }))
    .filter(({ task }) => task.deduplicated_to === null);
  void reply.code(created.length === 0 ? 204 : 201);
  if (created.length === 0) return undefined;
  if (prefersMinimal(request)) {
    void reply.header('preference-applied', 'return=minimal');
    return created.map(({ task }) => ({ id: task.id }));
  }
  return Promise.all(created.map(({ index }) => createdTask(index, submission, result, context)));
}

/** A batch to store on behalf of a request, whose `batchId` becomes its id. */
interface GivenTasks {
  body: unknown;
  name: string | null;
  idempotency: IdempotencyKey | null;
  with_duplicates?: boolean;
  audit_entry?: string;
}

/** The entry of the audit log for a submission that creates its batch. */
function entryOf({ heddle, ip }: Call, { audit }: RouteContext): string {
  return audit.entryOf(
    recordOf({ method: SUBMIT_ROUTE.method, heddle }, { object: heddle.batchId, status: 201, address: ip ?? null }),
  );
}

/** Checks and stores tasks; adds warnings to the reply. */
export async function storeTasks(
  request: Pick<Call, 'heddle'>,
  reply: Pick<CallReply, 'header'>,
  context: RouteContext,
  { body, with_duplicates, audit_entry, ...given }: GivenTasks,
): Promise<{ submission: Submission; result: SubmitResult }> {
  const submission = await buildSubmission(body, {
    ...given,
    batchId: request.heddle.batchId!,
    traceparent: request.heddle.traceparent,
    newId: context.newId,
    definitions: context.definitions,
    ssrf: context.config.ssrf,
    resourceClasses: context.config.resourceClasses ?? null,
  });
  requireCommandScope(
    request,
    submission.tasks.map(({ kind }) => kind),
  );
  if (with_duplicates === true) submission.with_duplicates = true;
  if (audit_entry !== undefined) submission.audit_entry = audit_entry;
  const result = await context.operations.submit(submission);
  await warnOfKinds(context, kindsForWorkers(submission.tasks), reply);
  return { submission, result };
}

/** New tasks need not be read back, unless one ended at once (its deduplicated parent had failed). */
async function createdTask(
  index: number,
  submission: Submission,
  result: SubmitResult,
  context: RouteContext,
): Promise<TaskDto> {
  const created = result.tasks[index]!;
  if (isTerminal(created.state)) {
    const stored = await context.engine.getTask(created.id);
    if (stored) return taskToWire(stored);
  }
  return createdTaskToWire(submission.tasks[index]!, created, result.workflow_id, result.created_at);
}

export function prefersMinimal({ headers: { prefer } }: Pick<Call, 'headers'>): boolean {
  return prefer !== undefined && /(^|[,;\s])return\s*=\s*"?minimal"?\s*($|[,;])/i.test(String(prefer));
}
