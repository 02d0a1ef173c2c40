import type { ClientContext } from '../output/client-command.ts';
import { CLIENT_EXIT, type ClientExit } from '../output/exit-codes.ts';
import { displayFor } from '@heddle/base/terminal/live-progress';
import type { Output } from '@heddle/base/terminal/output';
import { count, duration, printable } from '@heddle/base/terminal/text';
import type { PoolRunner, Provisioned } from '../output/wire.ts';
import { obstacleOf } from './pool-obstacle.ts';
import { requirementsOf, type RequirementOptions } from './pool-options.ts';

export interface ProvisionOptions extends RequirementOptions {
  wait?: boolean;
}

const LOOK_MS = 500;
const PAGE_SIZE = 100;

interface Progress {
  wanted: number;
  ready: number;
  ended: number;
  /** The reason that holds back launches. */
  obstacle: string | null;
}

/** Launches runners; with `--wait` until each is ready or has failed. */
export async function provision(context: ClientContext, options: ProvisionOptions): Promise<ClientExit | undefined> {
  const { client, output } = context;
  const provisioned = await client.pool.provision({ requirements: requirementsOf(options) });
  if (options.wait !== true) {
    output.result(provisioned, () => {
      const { length } = provisioned.runner_ids;
      if (length > 0) output.line(`${count(length, 'runner')} launching; list them with: heddle pool list`);
      printNotLaunched(output, provisioned);
    });
    return provisioned.not_launched > 0 ? CLIENT_EXIT.failed : undefined;
  }
  const runners = await waitForRunners(context, provisioned.runner_ids, options.class);
  if (runners === null) return CLIENT_EXIT.interrupted;
  const { not_launched, reason } = provisioned;
  output.result({ runners, not_launched, reason }, () => {
    for (const runner of runners) printRunner(output, runner);
    printNotLaunched(output, provisioned);
  });
  const failed = not_launched > 0 || runners.some(({ state }) => state === 'terminated');
  return failed ? CLIENT_EXIT.failed : undefined;
}

function printNotLaunched(output: Output, { not_launched, reason }: Provisioned): void {
  if (not_launched === 0) return;
  output.line(`${count(not_launched, 'runner')} not launched${reason === null ? '' : `: ${printable(reason)}`}`);
}

function printRunner(output: Output, runner: PoolRunner): void {
  const { id, state, reason, instance_type, created_at, state_since } = runner;
  const took = duration(Date.parse(state_since) - Date.parse(created_at));
  output.line(
    state === 'terminated'
      ? `${output.paint('red', '✖')} ${id} failed: ${printable(reason ?? 'terminated')}`
      : `${output.paint('green', '✔')} ${id} is ${state} after ${took}, ${printable(instance_type ?? '')}`,
  );
}

/** Each runner once it is no longer launching; null if Ctrl-C came first. */
async function waitForRunners(
  { client, output, io }: ClientContext,
  ids: readonly string[],
  resourceClass: string,
): Promise<PoolRunner[] | null> {
  const { stdout, stderr, clock } = io;
  const display = displayFor<Progress>({ stdout, stderr, clock, enabled: !output.json }, { counts: progressText });
  const stop = new AbortController();
  const unsubscribe = io.onInterrupt(() => stop.abort());
  const come = new Map<string, PoolRunner>();
  try {
    for (;;) {
      const launching = await launchingOf(client, resourceClass);
      for (const id of ids) if (!come.has(id) && !launching.has(id)) come.set(id, await client.pool.runner(id));
      const ended = [...come.values()].filter(({ state }) => state === 'terminated').length;
      const obstacle = await obstacleOf(client, resourceClass);
      display.update({ wanted: ids.length, ready: come.size - ended, ended, obstacle });
      if (come.size === ids.length) return ids.map((id) => come.get(id)!);
      if (stop.signal.aborted) return null;
      await clock.sleep(LOOK_MS, stop.signal);
    }
  } finally {
    display.stop();
    unsubscribe();
  }
}

async function launchingOf(client: ClientContext['client'], resourceClass: string): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let page = 0; ; page += 1) {
    const filter = { state: 'created' as const, resource_class: resourceClass, page, page_size: PAGE_SIZE };
    const runners = await client.pool.runners(filter);
    for (const { id } of runners) ids.add(id);
    if (runners.length < PAGE_SIZE) return ids;
  }
}

function progressText({ wanted, ready, ended, obstacle }: Progress): string {
  const failed = ended === 0 ? '' : `, ${ended} failed`;
  const why = obstacle === null ? '' : `; ${printable(obstacle)}`;
  return `${ready} of ${count(wanted, 'runner')} ready${failed}${why}`;
}
