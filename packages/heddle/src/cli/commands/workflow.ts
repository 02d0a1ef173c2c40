import { Option, type Command } from 'commander';

import type { HeddleClient } from '@heddle/client';
import {
  clientCommand,
  parseId,
  processIo,
  wholeNumber,
  type ClientContext,
  type CommandIo,
} from '../output/client-command.ts';
import { pagedByCursor } from '../output/list-options.ts';
import { CLIENT_EXIT, type ClientExit } from '../output/exit-codes.ts';
import { STATES } from '../output/status.ts';
import { count } from '@heddle/base/terminal/text';
import { watchWorkflow } from '../output/workflow-progress.ts';
import { explainContainer } from './workflow-explain.ts';
import { showWorkflowLogs } from './workflow-logs.ts';
import { submitWorkflow, type WorkflowSubmitOptions } from './workflow-submit.ts';
import { listWorkflows, showWorkflow, type WorkflowGetOptions, type WorkflowListOptions } from './workflow-show.ts';

const DEPTH_MAX = 1000;

/** Adds `heddle workflow …`. */
export function registerWorkflowCommands(program: Command, io: CommandIo = processIo): void {
  const workflow = program.command('workflow').description('Submit, follow and control workflows: trees of tasks');
  clientCommand<WorkflowSubmitOptions>(
    workflow
      .command('submit')
      .description('Submit the workflow of a JSON file and start it')
      .argument('<file>', 'JSON file with `root`; - reads standard input')
      .option('--watch', 'Follow it to completion; fails unless it succeeded')
      .option('--name <name>', 'Display name of the workflow, instead of the name in the file')
      .option('--idempotency-key <key>', 'Idempotency key: a repeat creates nothing and returns the first response'),
    io,
    (context, options, file) => submitWorkflow(context, options, file, followWorkflow),
  );
  addReads(workflow, io);
  clientCommand<{ timestamps?: boolean }>(
    workflow
      .command('logs')
      .description('Show what the tasks of a workflow logged')
      .argument('<id>', 'ID of the workflow', parseId)
      .option('--timestamps', 'Begin each line with its time'),
    io,
    showWorkflowLogs,
  );
  for (const verb of VERBS) addVerb(workflow, io, verb);
}

function addReads(workflow: Command, io: CommandIo): void {
  clientCommand<WorkflowListOptions>(
    pagedByCursor(
      workflow
        .command('list')
        .description('List workflows, newest first')
        .option('--open', 'Only workflows with unfinished tasks')
        .option('--ended', 'Only completed workflows')
        .addOption(new Option('--state <state>', 'Only in this state').choices(STATES)),
      'Workflows',
    ),
    io,
    listWorkflows,
  );
  clientCommand<WorkflowGetOptions>(
    workflow
      .command('get')
      .description('Show a workflow with its tree')
      .argument('<id>', 'ID of the workflow', parseId)
      .option('--depth <levels>', 'Levels below the root (default all)', wholeNumber(0, DEPTH_MAX))
      .option('--no-tasks', 'Containers only'),
    io,
    showWorkflow,
  );
  clientCommand(
    workflow
      .command('explain')
      .description('Explain what a container of a workflow waits for')
      .argument('<id>', 'ID of the workflow', parseId)
      .argument('[container]', 'ID or local name of the container (default the root)'),
    io,
    explainContainer,
  );
  clientCommand(
    workflow
      .command('watch')
      .description('Follow a workflow to completion; fails unless it succeeded')
      .argument('<id>', 'ID of the workflow', parseId),
    io,
    async (context, _options, id) => followWorkflow(context, id),
  );
}

/** Follows a workflow until it has completed or Ctrl-C is pressed. */
async function followWorkflow({ client, output, io }: ClientContext, id: string): Promise<ClientExit> {
  const stop = new AbortController();
  const unsubscribe = io.onInterrupt(() => stop.abort());
  try {
    const { ended, succeeded } = await watchWorkflow(client, id, { output, signal: stop.signal });
    if (!ended) return stop.signal.aborted ? CLIENT_EXIT.interrupted : CLIENT_EXIT.unavailable;
    return succeeded ? CLIENT_EXIT.ok : CLIENT_EXIT.failed;
  } finally {
    unsubscribe();
  }
}

interface Verb {
  name: 'cancel' | 'pause' | 'resume' | 'retry';
  description: string;
  /** The member of the response that counts tasks. */
  counts: string;
  /** The message if nothing had to be done. */
  none: string;
  run: (client: HeddleClient, id: string) => Promise<number>;
}

const VERBS: readonly Verb[] = [
  {
    name: 'cancel',
    description: 'Cancel all unfinished tasks of a workflow',
    counts: 'canceled',
    none: 'has already completed; nothing was canceled',
    run: (client, id) => client.cancelWorkflow(id),
  },
  {
    name: 'pause',
    description: 'Pause a workflow: nothing of it starts until it is resumed',
    counts: 'paused',
    none: 'has nothing to pause',
    run: (client, id) => client.pauseWorkflow(id),
  },
  {
    name: 'resume',
    description: 'Resume a paused workflow',
    counts: 'resumed',
    none: 'has nothing to resume',
    run: (client, id) => client.resumeWorkflow(id),
  },
  {
    name: 'retry',
    description: 'Retry what failed, timed out or was canceled, and what comes after it',
    counts: 'retried',
    none: 'has nothing to retry',
    run: (client, id) => client.retryWorkflow(id),
  },
];

function addVerb(workflow: Command, io: CommandIo, { name, description, counts, none, run }: Verb): void {
  clientCommand(
    workflow.command(name).description(description).argument('<id>', 'ID of the workflow', parseId),
    io,
    async ({ client, output }, _options, id) => {
      const changed = await run(client, id);
      output.result({ workflow_id: id, [counts]: changed }, () =>
        output.line(changed === 0 ? `workflow ${id} ${none}` : `${counts} ${count(changed, 'task')}`),
      );
      return undefined;
    },
  );
}
