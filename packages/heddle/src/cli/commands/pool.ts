import { Option, type Command } from 'commander';

import { clientCommand, parseId, processIo, type ClientContext, type CommandIo } from '../output/client-command.ts';
import { CLIENT_EXIT } from '../output/exit-codes.ts';
import { given, paged, pageQuery, type PageOptions } from '../output/list-options.ts';
import {
  writeCensus,
  writeClasses,
  writeRefreshed,
  writeRequests,
  writeRunner,
  writeRunners,
} from '../output/pool-table.ts';
import type { PoolRunner } from '../output/wire.ts';
import { registerPoolRunCommand } from './run.ts';
import { holdRunners, releaseHold, showRequest, type HoldOptions } from './pool-hold.ts';
import { secondsOf, withRequirements } from './pool-options.ts';
import { provision, type ProvisionOptions } from './pool-provision.ts';

const STATES = [
  'created',
  'idle',
  'claimed',
  'running',
  'terminated',
] as const satisfies readonly PoolRunner['state'][];
const RUNNER = 'ID of the runner';
const WAIT_DEFAULT_SECS = 300;

interface ListOptions extends PageOptions {
  state?: PoolRunner['state'];
  class?: string;
}

interface RequestsOptions extends PageOptions {
  granted?: boolean;
}

/** Adds `heddle pool …`. */
export function registerPoolCommands(program: Command, io: CommandIo = processIo): void {
  const pool = program.command('pool').description('Manage the runner pool: runners, requests and holds');
  addReads(pool, io);
  addProvision(pool, io);
  addChanges(pool, io);
  addRequests(pool, io);
  registerPoolRunCommand(pool, io);
}

function addReads(pool: Command, io: CommandIo): void {
  clientCommand(
    pool.command('status').description('Count runners and waiting requests by class'),
    io,
    async ({ client, output }) => {
      const summary = await client.pool.get();
      output.result(summary, () => writeCensus(output, summary));
      return undefined;
    },
  );
  clientCommand<ListOptions>(
    paged(
      pool
        .command('list')
        .description('List runners; terminated ones only with --state terminated')
        .addOption(new Option('--state <state>', 'Only in this state').choices(STATES))
        .option('--class <name>', 'Only of this resource class'),
      'runners',
    ),
    io,
    listRunners,
  );
  clientCommand(
    pool.command('get').description('Show a runner').argument('<id>', RUNNER, parseId),
    io,
    async (context, _options, id) => printRunner(context, await context.client.pool.runner(id)),
  );
  clientCommand(pool.command('classes').description('List the resource classes'), io, async ({ client, output }) => {
    const classes = await client.pool.classes();
    output.result(classes, () => writeClasses(output, classes));
    return undefined;
  });
}

async function listRunners({ client, output }: ClientContext, options: ListOptions): Promise<undefined> {
  const filter = { ...given({ state: options.state, resource_class: options.class }), ...pageQuery(options) };
  const runners = await client.pool.runners(filter);
  output.result(runners, () => writeRunners(output, runners));
  return undefined;
}

function addProvision(pool: Command, io: CommandIo): void {
  clientCommand<ProvisionOptions>(
    withRequirements(pool.command('provision').description('Launch idle runners ahead of demand')).option(
      '--wait',
      'Wait until each is ready or has failed',
    ),
    io,
    provision,
  );
  clientCommand(
    pool.command('refresh').description('Refresh launches, terminate expired runners, offer idle runners again'),
    io,
    async ({ client, output }) => {
      const refreshed = await client.pool.refresh();
      output.result(refreshed, () => writeRefreshed(output, refreshed));
      return refreshed.failures.length > 0 ? CLIENT_EXIT.failed : undefined;
    },
  );
}

function addChanges(pool: Command, io: CommandIo): void {
  const on = (name: string, description: string) =>
    pool.command(name).description(description).argument('<id>', RUNNER, parseId);
  clientCommand(on('release', 'Release a runner from its claim'), io, async (context, _options, id) =>
    printRunner(context, await context.client.pool.release(id)),
  );
  clientCommand(
    on('drain', 'Let a runner finish its task, then terminate it; an idle one at once'),
    io,
    async (context, _options, id) => printRunner(context, await context.client.pool.drain(id)),
  );
  clientCommand(
    on('terminate', 'Terminate a runner now; its request waits for another one'),
    io,
    async (context, _options, id) => printRunner(context, await context.client.pool.terminate(id)),
  );
}

function printRunner({ output }: ClientContext, runner: PoolRunner): undefined {
  output.result(runner, () => writeRunner(output, runner));
  return undefined;
}

function addRequests(pool: Command, io: CommandIo): void {
  clientCommand<RequestsOptions>(
    paged(
      pool
        .command('requests')
        .description('List requests for runners, in queue order')
        .option('--granted', 'Granted requests instead of waiting ones'),
      'requests',
    ),
    io,
    async ({ client, output }, options) => {
      const state = options.granted === true ? 'granted' : 'waiting';
      const requests = await client.pool.requests({ state, ...pageQuery(options) });
      output.result(requests, () => writeRequests(output, requests));
      return undefined;
    },
  );
  clientCommand(
    pool.command('request').description('Show a request for runners').argument('<id>', 'ID of the request', parseId),
    io,
    showRequest,
  );
  clientCommand<HoldOptions>(
    withRequirements(pool.command('hold').description('Reserve runners for your own work until you release them'))
      .option('--id <uuid>', 'ID of the new request; a repeat with the same ID has no further effect', parseId)
      .option('--holder <name>', 'Display name of the holder')
      .option('--tenant <name>', 'Key for fair queuing among tenants')
      .addOption(
        new Option('--wait <time>', 'How long to wait for them, such as 90s or 15m')
          .argParser(secondsOf)
          .default(WAIT_DEFAULT_SECS, '5m'),
      )
      .option('--no-wait', 'Submit the request without waiting'),
    io,
    holdRunners,
  );
  clientCommand(
    pool
      .command('release-hold')
      .description('Release the runners of a request, or withdraw it')
      .argument('<id>', 'ID of the request', parseId),
    io,
    releaseHold,
  );
}
