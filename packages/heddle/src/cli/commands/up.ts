import { relative } from 'node:path';

import type { Command } from 'commander';

import { keepNewSpaceSmall } from '@heddle/base/new-space';
import type { LifeEvent } from '../../app/server.ts';
import type { ShownWorkflow } from '../../app/up.ts';
import { createClient } from '../output/client-command.ts';
import type { Output } from '@heddle/base/terminal/output';
import { watchWorkflow } from '../output/workflow-progress.ts';
import {
  addSettingsOptions,
  configurationOf,
  outputOf,
  SERVER_KEYS,
  type SettingsOptions,
} from '../settings-options.ts';

/** `heddle up`: everything on one machine. */
export function registerUpCommand(program: Command): void {
  const command = program
    .command('up')
    .description('Run everything on this machine, with an embedded database, until Ctrl-C')
    .option('--verbose', 'Show the log, which is otherwise only in the file `log` of the data directory');
  addSettingsOptions(command, ['kindModules', ...SERVER_KEYS])
    .addHelpText('after', HELP)
    .action(async (options: SettingsOptions & { verbose?: boolean }) => {
      const configuration = configurationOf(options);
      const output = outputOf(options);
      keepNewSpaceSmall();
      const { runUp } = await import('../../app/up.ts');
      let print: ((line: string) => void) | null = null;
      const logSink = {
        write: (line: string): void => {
          if (print === null || !output.live) output.stderr.write(line);
          else print(line.trimEnd());
        },
      };
      const show = async (workflow: ShownWorkflow): Promise<void> => {
        try {
          await showWorkflow(output, workflow, (printer) => (print = printer));
        } finally {
          print = null;
        }
      };
      const verbose = options.verbose ?? false;
      process.exitCode = await runUp({
        configuration,
        onEvent: (event) => printLifeEvent(output, event),
        show,
        logSink,
        verbose,
      });
    });
}

const HELP = `
Exit codes: 0 stopped by Ctrl-C, 1 could not start, 2 invalid setting, 130 stopped by force (Ctrl-C twice).
With --json, one document for each of: starting, ready (with url and port), example, example_ended,
stopping, stopped.`;

async function showWorkflow(
  output: Output,
  { apiUrl, token, workflowId, signal }: ShownWorkflow,
  onPrinter: (print: (line: string) => void) => void,
): Promise<void> {
  if (output.json) return;
  const client = createClient({ url: apiUrl, token, output });
  await watchWorkflow(client, workflowId, { output, signal, onPrinter });
}

/** Reports the lifecycle events of a process: a sentence for each, or a document with `--json`. */
export function printLifeEvent(output: Output, event: LifeEvent): void {
  if (output.json) output.document(event);
  else for (const line of linesOf(output, event)) output.line(line);
}

function linesOf(output: Output, event: LifeEvent): string[] {
  switch (event.event) {
    case 'starting':
      return [
        `Heddle ${event.version}`,
        ...(event.data_dir === null ? [] : [`Data: ${shortPath(event.data_dir)}`]),
        `Log:  ${shortPath(event.log_file)}`,
      ];
    case 'ready':
      return [
        `Page: ${output.paint('bold', event.page)}`,
        ...(event.tokens_required ? ['Requests need a bearer token: `heddle token create`'] : []),
        'Press Ctrl-C to stop.',
      ];
    case 'example':
      return ['', `Running the example: ${output.paint('bold', event.page)}`];
    case 'example_ended':
      return [
        ...(event.report === null ? [] : ['', event.report, '']),
        'Heddle is still running. Press Ctrl-C to stop.',
      ];
    case 'stopping':
      return ['Stopping. Press Ctrl-C again to force.'];
    case 'stopped':
      return ['Stopped.'];
    case 'forced':
      return ['Stopped by force; the database recovers at the next start.'];
  }
}

/** Returns a relative path if it is below the working directory. */
function shortPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short === '' || short.startsWith('..') ? path : short;
}
