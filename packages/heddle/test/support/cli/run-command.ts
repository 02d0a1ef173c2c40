/** Runs commands of the real program in the test's process, with separate streams. */
import { Readable, Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';

import { Command, CommanderError } from 'commander';

import { registerBatchCommands } from '../../../src/cli/commands/batch.ts';
import { registerEventCommands } from '../../../src/cli/commands/event.ts';
import { registerArtifactCommands } from '../../../src/cli/commands/artifact.ts';
import { registerAuditCommand } from '../../../src/cli/commands/audit.ts';
import { registerFindingsCommands } from '../../../src/cli/commands/findings.ts';
import { registerModelsCommands } from '../../../src/cli/commands/models.ts';
import { registerJobCommands } from '../../../src/cli/commands/job.ts';
import { registerKindCommands } from '../../../src/cli/commands/kind.ts';
import { registerPoolCommands } from '../../../src/cli/commands/pool.ts';
import { registerRunCommand } from '../../../src/cli/commands/run.ts';
import { registerRunsCommands } from '../../../src/cli/commands/runs.ts';
import { registerRunOperationCommands } from '../../../src/cli/commands/run-operations.ts';
import { registerSecretCommands } from '../../../src/cli/commands/secret.ts';
import { registerSessionCommands } from '../../../src/cli/commands/session.ts';
import { registerStatusCommand } from '../../../src/cli/commands/status.ts';
import { registerTaskCommands } from '../../../src/cli/commands/task.ts';
import { registerWebhookCommands } from '../../../src/cli/commands/webhook.ts';
import { registerWorkflowCommands } from '../../../src/cli/commands/workflow.ts';
import type { CommandIo } from '../../../src/cli/output/client-command.ts';
import { systemClock } from '@heddle/base/clock';
import { eventually } from '@heddle/test-support/eventually';

export class Capture extends Writable {
  text = '';
  readonly isTTY: boolean;
  readonly columns = 100;
  readonly rows = 24;

  constructor(isTTY = false) {
    super();
    this.isTTY = isTTY;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }

  /** Resolves once what was written matches. */
  async until(pattern: RegExp): Promise<void> {
    await eventually(() => pattern.test(stripVTControlCharacters(this.text)), `the output matches ${String(pattern)}`);
  }

  get lines(): string[] {
    return this.text.split('\n').filter((line) => line !== '');
  }
}

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
  lines: string[];
  /** Standard output as one JSON document. */
  json: () => unknown;
  /** Standard output as JSON lines. */
  jsonLines: () => Record<string, unknown>[];
}

export interface RunOptions {
  stdin?: string;
  tty?: boolean;
  /** Aborts like Ctrl-C. */
  interrupt?: AbortSignal;
  /** Receives standard error, to wait for what it says. */
  stderr?: Capture;
}

export async function heddle(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const stdout = new Capture(options.tty);
  const stderr = options.stderr ?? new Capture();
  let code = -1;
  const io: CommandIo = {
    stdin: Readable.from([options.stdin ?? '']),
    stdout,
    stderr,
    clock: systemClock,
    exit: (given) => (code = given),
    onInterrupt: (run) => {
      if (options.interrupt?.aborted === true) run();
      options.interrupt?.addEventListener('abort', run);
      return () => options.interrupt?.removeEventListener('abort', run);
    },
  };
  const program = new Command('heddle').exitOverride().configureOutput({
    writeOut: (text) => stdout.write(text),
    writeErr: (text) => stderr.write(text),
  });
  registerBatchCommands(program, io);
  registerTaskCommands(program, io);
  registerStatusCommand(program, io);
  registerRunCommand(program, io);
  registerRunsCommands(program, io);
  registerWorkflowCommands(program, io);
  registerEventCommands(program, io);
  registerArtifactCommands(program, io);
  registerAuditCommand(program, io);
  registerSecretCommands(program, io);
  registerSessionCommands(program, io);
  registerFindingsCommands(program, io);
  registerModelsCommands(program, io);
  registerJobCommands(program, io);
  registerKindCommands(program, io);
  registerRunOperationCommands(program, io);
  registerPoolCommands(program, io);
  registerWebhookCommands(program, io);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    code = error.exitCode === 0 ? 0 : 2;
  }
  return {
    code,
    stdout: stdout.text,
    stderr: stderr.text,
    lines: stdout.lines,
    json: () => JSON.parse(stdout.text) as unknown,
    jsonLines: () => stdout.lines.map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}
