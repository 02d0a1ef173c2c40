import type { ClientContext } from '../output/client-command.ts';
import { CLIENT_EXIT, type ClientExit } from '../output/exit-codes.ts';
import { given } from '../output/list-options.ts';
import { displayFor } from '@heddle/base/terminal/live-progress';
import { reasonOf, wantsOf, writeRunners } from '../output/pool-table.ts';
import { writeFields } from '@heddle/base/terminal/table';
import { printable } from '@heddle/base/terminal/text';
import type { PoolRequestDetail } from '../output/wire.ts';
import { obstacleOf } from './pool-obstacle.ts';
import { requirementsOf, type RequirementOptions } from './pool-options.ts';

export interface HoldOptions extends RequirementOptions {
  id?: string;
  holder?: string;
  tenant?: string;
  /** Seconds; false for no wait. */
  wait: number | false;
}

/** Upper bound of one long poll, so that the reason for waiting can be shown. */
const WAIT_STEP_SECS = 5;

/** Requests runners and waits for them; the request remains when the wait ends. */
export async function holdRunners(context: ClientContext, options: HoldOptions): Promise<ClientExit | undefined> {
  const { id, holder, tenant, wait } = options;
  const body = { requirements: requirementsOf(options), ...given({ id, holder, tenant }) };
  const { request, interrupted } = await waitForGrant(context, body, wait === false ? 0 : wait);
  printRequest(context, request);
  if (request.state === 'granted') return undefined;
  if (request.state === 'ended') return CLIENT_EXIT.failed;
  context.output.notice(
    `the request is still waiting; to wait for it again: the same command with --id ${request.id}; to end it: heddle pool release-hold ${request.id}`,
  );
  if (interrupted) return CLIENT_EXIT.interrupted;
  return wait === false ? undefined : CLIENT_EXIT.unavailable;
}

type HoldBody = Parameters<ClientContext['client']['pool']['hold']>[0];

/** The request once it no longer waits, or as it is when the wait ends or Ctrl-C is pressed. */
async function waitForGrant(
  { client, io, output }: ClientContext,
  body: HoldBody,
  waitSecs: number,
): Promise<{ request: PoolRequestDetail; interrupted: boolean }> {
  const { stdout, stderr, clock } = io;
  const options = { stdout, stderr, clock, enabled: !output.json };
  const display = displayFor<Waiting>(options, { counts: waitingText });
  const stop = new AbortController();
  const unsubscribe = io.onInterrupt(() => stop.abort());
  const until = clock.monotonic() + waitSecs * 1_000;
  try {
    let request = await client.pool.hold(body);
    for (;;) {
      const leftSecs = (until - clock.monotonic()) / 1_000;
      const interrupted = stop.signal.aborted;
      if (request.state !== 'waiting' || leftSecs <= 0 || interrupted) return { request, interrupted };
      display.update({ request, obstacle: await obstacleOf(client, body.requirements.resource_class) });
      const wait_secs = Math.min(leftSecs, WAIT_STEP_SECS);
      const { id } = request;
      request = await client.pool.hold({ ...body, id, wait_secs }, stop.signal).catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
        return client.pool.request(id);
      });
    }
  } finally {
    display.stop();
    unsubscribe();
  }
}

interface Waiting {
  request: PoolRequestDetail;
  /** The reason that holds back launches. */
  obstacle: string | null;
}

function waitingText({ request, obstacle }: Waiting): string {
  const reasons = [
    reasonOf({ ...request, reason: obstacle === null ? request.reason : null }),
    printable(obstacle ?? ''),
  ];
  const known = reasons.filter((reason) => reason !== '').join('; ');
  return `waiting for ${wantsOf(request)}${known === '' ? '' : `: ${known}`}`;
}

export async function showRequest(context: ClientContext, _options: unknown, id: string): Promise<undefined> {
  printRequest(context, await context.client.pool.request(id));
  return undefined;
}

export async function releaseHold(context: ClientContext, _options: unknown, id: string): Promise<undefined> {
  printRequest(context, await context.client.pool.letGo(id));
  return undefined;
}

function printRequest({ output }: ClientContext, request: PoolRequestDetail): void {
  output.result(request, () => {
    const { source, run, attempt } = request;
    const reason = reasonOf(request);
    writeFields(output, [
      ['id', request.id],
      ['state', request.state],
      ['wants', wantsOf(request)],
      ['for', printable(source === 'task' ? `task ${run}, attempt ${attempt ?? 1}` : run)],
      ['tenant', printable(request.tenant)],
      ['created', request.created_at],
      ['granted', request.granted_at],
      ['expires', request.expires_at],
      ['reason', reason === '' ? null : reason],
    ]);
    if (request.runners.length > 0) writeRunners(output, request.runners);
  });
}
