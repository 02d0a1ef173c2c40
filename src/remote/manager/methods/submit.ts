import type { Received } from '../../security/port.ts';
import type { ManagerContext } from '../context.ts';
import type { Reply } from '../port.ts';
import type { Dispatcher } from '../steps/dispatch.ts';
import { register } from '../steps/register.ts';
import { answerOf, pendingAnswer, respond, type Answer } from '../steps/respond.ts';
import { validate, type Asking, type Submission } from '../steps/validate.ts';
import { untilOver } from '../until-over.ts';

export interface Submitted {
  readonly answer: Answer;
  readonly sequence: number;
}

const NOTHING = new Uint8Array(0);

/** The life of a submission from its first check to the answer; what happens between acceptance and outcome is the dispatcher's. */
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
    // Who waits for the end holds neither arguments nor payload: copies of a request would multiply them.
    // eslint-disable-next-line no-useless-assignment -- a function that waits keeps what its variables hold
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
      await untilOver(context, task, { signal: received.signal, waitMs: null });
      stopProgress?.();
    }
    const answer = await tracing.respond(undefined, task.id, () => answerOf(context, received, task));
    return { answer, sequence };
  });
}
