import { Option, type Command } from 'commander';

import { keepNewSpaceSmall } from '@heddle/base/new-space';
import type { RunnerEvent } from '../../app/pool/runner-process.ts';
import type { WorkerEvent } from '../../app/worker.ts';
import type { Output } from '@heddle/base/terminal/output';
import { addSettingsOptions, collect, configurationOf, outputOf, type SettingsOptions } from '../settings-options.ts';

type WorkerCommandOptions = SettingsOptions & {
  kind?: string[];
  url?: string;
  token?: string;
  runner?: string;
  runnerHome?: string;
};

/** `heddle worker`: runs tasks from queues. */
export function registerWorkerCommand(program: Command): void {
  const command = program
    .command('worker')
    .description('Run tasks from the queues of the kinds of your modules until Ctrl-C')
    .option('--kind <name>', 'Run only this kind; may be repeated', collect)
    .option('--runner <id>', 'Run as this runner of the pool, one task at a time; `ec2` gets the ID from EC2')
    .addOption(new Option('--runner-home <directory>', 'Directory of the provider’s records').hideHelp())
    .addOption(new Option('--url <url>', 'Server for cancellations and results, without a database').env('HEDDLE_URL'))
    .addOption(new Option('--token <token>', 'Bearer token for that server').env('HEDDLE_TOKEN'));
  addSettingsOptions(command, ['kindModules', 'workerConcurrency', 'workerDrainSecs'])
    .addHelpText('after', HELP)
    .action(async (options: WorkerCommandOptions) => {
      keepNewSpaceSmall();
      const configuration = configurationOf(options);
      const output = outputOf(options);
      const server = options.url === undefined ? null : { url: options.url, token: options.token };
      if (options.runner !== undefined) {
        const { runRunner } = await import('../../app/pool/runner-process.ts');
        const { runner, runnerHome: home = null } = options;
        const onEvent = (event: RunnerEvent): void => printRunner(output, event);
        process.exitCode = await runRunner({ configuration, runner, home, server, onEvent });
        return;
      }
      const { runWorker } = await import('../../app/worker.ts');
      const onEvent = (event: WorkerEvent): void => printWorkerEvent(output, event);
      process.exitCode = await runWorker({ configuration, kinds: options.kind ?? [], server, onEvent });
    });
}

const HELP = `
With --runner it is a runner of the pool: it registers with a token of the scope \`runner\`, takes the tasks that it is claimed for,
and stops when the pool no longer needs it. Providers start it this way; by hand it is useful only for tests.
QUEUE_URL locates the queues, by default in the database of DATABASE_URL, or in that of a running \`heddle up\` of the
same data directory. Ctrl-C or SIGTERM: no more is received, running tasks may finish; a second one stops at once.
Exit codes: 0 stopped by Ctrl-C or SIGTERM, 1 could not start, 2 invalid setting, 130 stopped by force.
With --json, one document for each of: ready, stopping, stopped.`;

function printRunner(output: Output, event: RunnerEvent): void {
  if (output.json) output.document(event);
  else output.line(runnerLine(output, event));
}

function runnerLine(output: Output, event: RunnerEvent): string {
  switch (event.event) {
    case 'ready':
      return `This is runner ${output.paint('bold', String(event.number))} (${event.runner}); it runs ${event.kinds.length} kinds.`;
    case 'stopping':
      return 'Stopping. Press Ctrl-C again to force.';
    case 'stopped':
      return `Stopped: ${event.reason}.`;
    case 'forced':
      return 'Stopped by force; running tasks are requeued to another runner.';
  }
}

function printWorkerEvent(output: Output, event: WorkerEvent): void {
  if (output.json) output.document(event);
  else for (const line of linesOf(output, event)) output.line(line);
}

function linesOf(output: Output, event: WorkerEvent): string[] {
  switch (event.event) {
    case 'ready':
      return [
        `Worker ${event.worker} runs ${output.paint('bold', event.kinds.join(', '))}, ${event.concurrency} at once.`,
        'Press Ctrl-C to stop.',
      ];
    case 'stopping':
      return [`Stopping; ${event.running} tasks running. Press Ctrl-C again to force.`];
    case 'stopped':
      return [`Stopped: ${event.succeeded} tasks succeeded, ${event.failed} failed.`];
    case 'forced':
      return ['Stopped by force; running tasks are requeued to another worker.'];
  }
}
