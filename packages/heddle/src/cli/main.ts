#!/usr/bin/env node
import { type Command, CommanderError } from 'commander';

import { EXIT } from '../app/failure.ts';
import { isNodeSupported, NODE_MIN } from '../app/package.ts';

/** Runs the command line and returns the exit code; prints failures on standard error. */
async function run(argv: readonly string[]): Promise<number> {
  if (!isNodeSupported(process.versions.node)) {
    process.stderr.write(`error[FAILED]: Node ${NODE_MIN} or newer is required, this is ${process.versions.node}\n`);
    return EXIT.failed;
  }
  try {
    // Loaded only now: these modules do not load on an older Node.
    const { keepCompiledCode } = await import('../app/compile-cache.ts');
    keepCompiledCode(process.env);
    await (await programFor(argv[2])).parseAsync(argv);
    return Number(process.exitCode ?? EXIT.ok);
  } catch (error) {
    const { printFailure, printUsageFailure } = await import('./output/process-failure.ts');
    return error instanceof CommanderError ? printUsageFailure(argv, error) : printFailure(argv, error);
  }
}

async function programFor(command: string | undefined): Promise<Command> {
  if (command === 'scan') return (await import('./scan-program.ts')).createScanProgram();
  return (await import('./program.ts')).createProgram();
}

// A closed pipe (`heddle task list | head`) is not a failure.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

const code = await run(process.argv);
// Flushes first, so that output to a pipe is not lost, then exits regardless of open connections.
process.stdout.write('', () => process.exit(code));
