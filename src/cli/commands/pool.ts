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
import { holdRunners, letGo, showRequest, type HoldOptions } from './pool-hold.ts';
import { secondsOf, withRequirements } from './pool-options.ts';
import { provision, type ProvisionOptions } from './pool-provision.ts';

const STATES = [
  'created',
  'idle',
  'claimed',
  'running',
  'terminated',
] as const satisfies readonly PoolRunner['state'][];
const RUNNER = 'id of the runner';
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
  const pool = program.command('pool').description('runners: warm ones, those at work, and who waits for one');
  addReads(pool, io);
  addProvision(pool, io);
  addChanges(pool, io);
  addRequests(pool, io);
}

function addReads(pool: Command, io: CommandIo): void {
  clientCommand(
    pool.command('status').description('count runners by class, and what is waited for'),
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
        .description('list runners; those that have ended only with --state terminated')
        .addOption(new Option('--state <state>', 'only those in this state').choices(STATES))
        .option('--class <name>', 'only those of this resource class'),
      'runners',
    ),
    io,
    listRunners,
  );
  clientCommand(
    pool.command('get').description('show a runner').argument('<id>', RUNNER, parseId),
    io,
    async (context, _options, id) => tellRunner(context, await context.client.pool.runner(id)),
  );
  clientCommand(
    pool.command('classes').description('list the sizes that runners come in'),
    io,
    async ({ client, output }) => {
      const classes = await client.pool.classes();
      output.result(classes, () => writeClasses(output, classes));
      return undefined;
    },
  );
}

async function listRunners({ client, output }: ClientContext, options: ListOptions): Promise<undefined> {
  const filter = { ...given({ state: options.state, resource_class: options.class }), ...pageQuery(options) };
  const runners = await client.pool.runners(filter);
  output.result(runners, () => writeRunners(output, runners));
  return undefined;
}

function addProvision(pool: Command, io: CommandIo): void {
  clientCommand<ProvisionOptions>(
    withRequirements(pool.command('provision').description('launch warm runners')).option(
      '--wait',
      'until each is ready or has failed',
    ),
    io,
    provision,
  );
  clientCommand(
    pool.command('refresh').description('bring launches up to date, end what is over, offer idle runners again'),
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
  clientCommand(on('release', 'free a runner, whatever it was claimed for'), io, async (context, _options, id) =>
    tellRunner(context, await context.client.pool.release(id)),
  );
  clientCommand(
    on('drain', 'let a runner finish what it does, then end it; at once where it does nothing'),
    io,
    async (context, _options, id) => tellRunner(context, await context.client.pool.drain(id)),
  );
  clientCommand(
    on('terminate', 'end a runner now; what it was claimed for waits for another'),
    io,
    async (context, _options, id) => tellRunner(context, await context.client.pool.terminate(id)),
  );
}

function tellRunner({ output }: ClientContext, runner: PoolRunner): undefined {
  output.result(runner, () => writeRunner(output, runner));
  return undefined;
}

function addRequests(pool: Command, io: CommandIo): void {
  clientCommand<RequestsOptions>(
    paged(
      pool
        .command('requests')
        .description('list requests for runners, in the order of their turns')
        .option('--granted', 'those that have their runners, instead of those that wait'),
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
    pool.command('request').description('show a request for runners').argument('<id>', 'id of the request', parseId),
    io,
    showRequest,
  );
  clientCommand<HoldOptions>(
    withRequirements(pool.command('hold').description('get runners for work of your own, until they are let go'))
      .option('--id <uuid>', 'id of the request to be: a repeat asks for nothing more', parseId)
      .option('--holder <name>', 'who holds them, for people')
      .option('--tenant <name>', 'whom turns are to be fair to')
      .addOption(
        new Option('--wait <time>', 'how long to wait for them, such as 90s or 15m')
          .argParser(secondsOf)
          .default(WAIT_DEFAULT_SECS, '5m'),
      )
      .option('--no-wait', 'ask, and do not wait'),
    io,
    holdRunners,
  );
  clientCommand(
    pool
      .command('let-go')
      .description('end a request: its runners are free')
      .argument('<id>', 'id of the request', parseId),
    io,
    letGo,
  );
}
