import { Option, type Command } from 'commander';

import { keepNewSpaceSmall } from '../../app/new-space.ts';
import type { RunnerEvent } from '../../app/pool/runner-process.ts';
import type { WorkerEvent } from '../../app/worker.ts';
import type { Output } from '../output/output.ts';
import { addSettingsOptions, collectModule, configurationOf, modulesOf, outputOf } from '../settings-options.ts';

type WorkerCommandOptions = Parameters<typeof configurationOf>[0] & {
  module?: string[];
  kind?: string[];
  concurrency?: string;
  drain?: string;
  url?: string;
  token?: string;
  runner?: string;
  runnerHome?: string;
  development?: boolean;
};

/** `heddle worker`: tasks that arrive through queues. */
export function registerWorkerCommand(program: Command): void {
  const command = program
    .command('worker')
    .description('run tasks that arrive through queues, with the kinds of your modules, until Ctrl-C')
    .option('--module <file>', 'module that exports kinds; may be repeated (HEDDLE_MODULES)', collectModule)
    .option('--kind <name>', 'run this kind only; may be repeated', collectModule)
    .option('--concurrency <count>', 'handlers at once (HEDDLE_WORKER_CONCURRENCY)')
    .option('--drain <secs>', 'time that handlers have to end at a stop (HEDDLE_WORKER_DRAIN_SECS)')
    .option(
      '--runner <id>',
      'be this runner of the pool: one task at a time, whichever it is claimed for; `ec2` asks EC2',
    )
    .addOption(new Option('--runner-home <directory>', 'where the provider keeps its record').hideHelp())
    .addOption(new Option('--development', 'the server that started it is a `heddle up`').hideHelp())
    .addOption(new Option('--url <url>', 'server to ask for cancels and results without a database').env('HEDDLE_URL'))
    .addOption(new Option('--token <token>', 'bearer token for that server').env('HEDDLE_TOKEN'));
  addSettingsOptions(command)
    .addHelpText('after', HELP)
    .action(async (options: WorkerCommandOptions) => {
      const set = {
        ...options.set,
        ...modulesOf(options),
        ...(options.concurrency === undefined ? {} : { HEDDLE_WORKER_CONCURRENCY: options.concurrency }),
        ...(options.drain === undefined ? {} : { HEDDLE_WORKER_DRAIN_SECS: options.drain }),
      };
      keepNewSpaceSmall();
      const configuration = configurationOf({ ...options, set });
      const output = outputOf(options);
      if (options.runner !== undefined) {
        const { runRunner } = await import('../../app/pool/runner-process.ts');
        const { runner, runnerHome: home = null, development = false } = options;
        const tell = (event: RunnerEvent): void => tellRunner(output, event);
        process.exitCode = await runRunner({ configuration, runner, home, development, tell });
        return;
      }
      const server = options.url === undefined ? null : { url: options.url, token: options.token };
      const { runWorker } = await import('../../app/worker.ts');
      const tell = (event: WorkerEvent): void => tellWorker(output, event);
      process.exitCode = await runWorker({ configuration, kinds: options.kind ?? [], server, tell });
    });
}

const HELP = `
With --runner it is one of the pool: it registers, takes the tasks that it is claimed for straight from the database,
and ends when the pool has no use for it any more. Launches start it so; by hand it is of use for tests only.
The queues are where QUEUE_URL says, by default in the database that DATABASE_URL names, or that a \`heddle up\` of the
same data directory runs. Ctrl-C or SIGTERM: nothing more is received, what runs may end; a second one ends it at once.
Exit codes: 0 stopped by Ctrl-C or SIGTERM, 1 could not start, 2 a setting is not valid, 130 stopped by force.
With --json, one document for each of: ready, stopping, stopped.`;

function tellRunner(output: Output, event: RunnerEvent): void {
  if (output.json) output.document(event);
  else output.line(runnerLine(output, event));
}

function runnerLine(output: Output, event: RunnerEvent): string {
  switch (event.event) {
    case 'ready':
      return `This is runner ${output.paint('bold', String(event.number))} (${event.runner}); it runs ${event.kinds.length} kinds.`;
    case 'stopping':
      return 'It takes nothing more; Ctrl-C again ends it by force.';
    case 'stopped':
      return `Stopped: ${event.reason}.`;
    case 'forced':
      return 'Ended by force; what ran is run again on another runner.';
  }
}

function tellWorker(output: Output, event: WorkerEvent): void {
  if (output.json) output.document(event);
  else for (const line of linesOf(output, event)) output.line(line);
}

function linesOf(output: Output, event: WorkerEvent): string[] {
  switch (event.event) {
    case 'ready':
      return [
        `The worker ${event.worker} runs ${output.paint('bold', event.kinds.join(', '))}, ${event.concurrency} at once.`,
        'Press Ctrl-C to stop.',
      ];
    case 'stopping':
      return [`Stopping; ${event.running} tasks still run. Ctrl-C again ends it by force.`];
    case 'stopped':
      return [`Stopped: ${event.succeeded} tasks succeeded, ${event.failed} failed.`];
    case 'forced':
      return ['Ended by force; what ran is run again by another worker.'];
  }
}
