import type { Received } from '../../security/port.ts';
import type { ManagerContext } from '../context.ts';
import type { Reply } from '../port.ts';
import type { Dispatcher } from '../steps/dispatch.ts';
import { register } from '../steps/register.ts';
import { answerOf, pendingAnswer, respond, type Answer } from '../steps/respond.ts';
import { validate, type Asking, type Submission } from '../steps/validate.ts';
import { waitForCompletion } from '../wait-for-completion.ts';

export interface Submitted {
  readonly answer: Answer;
  readonly sequence: number;
}

const NOTHING = new Uint8Array(0);

/** Runs a submission from validation to response; the dispatcher handles what is between acceptance and outcome. */
export function submit(
  context: ManagerContext,
  dispatcher: Dispatcher,
  received: Received,
  asking: Asking,
  onProgress: ((reply: Reply) => void) | undefined,
): Promise<Submitted> {
  const { tracing } = context.options;
  return tracing.submit({ protocol: received.ingress, traceparent: received.traceparent }, async (span) => {
    let submission: Submission | null = await tracing.validate(() => validate(context, received, asking));
    const { keys } = submission.caller;
    const isSync = (submission.request.mode ?? 'sync') === 'sync';
    const task = await register(context, dispatcher, received, submission, tracing.traceparentOf(span));
    // Drops arguments and payload while waiting for the end, because copies of requests would add up.
    // eslint-disable-next-line no-useless-assignment -- a suspended function retains its variables
    submission = null;
    const { request }: { request: { payload: Uint8Array } } = received;
    request.payload = NOTHING;
    let sequence = 0;
    if (isSync) {
      const stopProgress =
        onProgress === undefined
          ? undefined
          : task.onProgress(() => {
              onProgress(respond(context, received, keys, pendingAnswer(context, task), sequence));
              sequence += 1;
            });
      await waitForCompletion(context, task, { signal: received.signal, waitMs: null });
      stopProgress?.();
    }
    const answer = await tracing.respond(undefined, task.id, () => answerOf(context, received, task));
    return { answer, sequence };
  });
}
