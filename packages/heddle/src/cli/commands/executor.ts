import type { Command } from 'commander';

import type { ExecutorEvent } from '../../app/remote/executor-events.ts';
import type { Output } from '@heddle/base/terminal/output';
import { addSettingsOptions, configurationOf, outputOf, type SettingsOptions } from '../settings-options.ts';

/** The settings with a flag; the others are set by `--set`. */
const KEYS = [
  'executorKeys',
  'executorEventsDir',
  'executorEvents',
  'executorTier',
  'executorTlsCert',
  'executorTlsKey',
  'executorClientCa',
  'executorClientCrl',
  'executorDataDir',
  'executorAllowedEvents',
] as const;

/** `heddle executor`: needs no database. */
export function registerExecutorCommand(program: Command): void {
  const command = program
    .command('executor')
    .description('Run signed remote tasks in a sandbox; needs no server and no database');
  addSettingsOptions(command, KEYS)
    .addHelpText('after', HELP)
    .action(async (options: SettingsOptions) => {
      const configuration = configurationOf(options);
      const output = outputOf(options);
      const { runExecutor } = await import('../../app/executor.ts');
      process.exitCode = await runExecutor({ configuration, onEvent: (event) => printExecutorEvent(output, event) });
    });
}

const HELP = `
  heddle keys generate --out keys --client laptop
  heddle executor --keys keys/keys.json --events examples/remote-events --allow '*'
  heddle event submit WordCount '{"text":"to be or not to be"}' --executor grpc+plain://127.0.0.1:50051 --client-file keys/client-laptop.json

Ctrl-C or SIGTERM: no new task is accepted, running tasks may finish; a second one stops at once.
Exit codes: 0 stopped by Ctrl-C or SIGTERM, 1 could not start, 2 invalid setting, 130 stopped by force.
With --json, one document for each of: ready, stopping, stopped.`;

function printExecutorEvent(output: Output, event: ExecutorEvent): void {
  if (output.json) output.document(event);
  else for (const line of linesOf(output, event)) output.line(line);
}

function linesOf(output: Output, event: ExecutorEvent): string[] {
  switch (event.event) {
    case 'ready': {
      const { events, allowed_events, listeners, tier, workers } = event;
      return [
        `${workers} workers; tasks run in the tier ${output.paint('bold', tier)}.`,
        ...listeners.map(({ protocol, url }) => `${protocol.padEnd(6)} ${url}`),
        `Events: ${events.length === 0 ? 'none yet' : events.join(', ')}.`,
        ...(allowed_events.length === 0
          ? ['None of them may be submitted: allow them with --allow (HEDDLE_EXECUTOR_ALLOWED_EVENTS).']
          : []),
        'Press Ctrl-C to stop.',
      ];
    }
    case 'stopping':
      return [`Stopping; ${event.running} tasks running, ${event.waiting} waiting. Press Ctrl-C again to force.`];
    case 'stopped':
      return ['Stopped. Waiting tasks run at the next start; results are kept for their callers.'];
    case 'forced':
      return ['Stopped by force; the next start reports interrupted tasks to their callers.'];
  }
}
