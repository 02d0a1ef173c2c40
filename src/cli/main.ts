#!/usr/bin/env node
import { type Command, CommanderError } from 'commander';

import { EXIT } from '../app/failure.ts';
import { isNodeSupported, NODE_MIN } from '../app/package.ts';

/** The code to exit with; says on standard error what went wrong. */
async function run(argv: readonly string[]): Promise<number> {
  if (!isNodeSupported(process.versions.node)) {
    process.stderr.write(`heddle: Node ${NODE_MIN} or newer is needed, this is ${process.versions.node}\n`);
    return EXIT.failed;
  }
  try {
    // Loaded only now: what these are made of does not even load on an older Node.
    const { keepCompiledCode } = await import('../app/compile-cache.ts');
    keepCompiledCode(process.env);
    await (await programFor(argv[2])).parseAsync(argv);
    return Number(process.exitCode ?? EXIT.ok);
  } catch (error) {
    const { tellFailure, tellUsageFailure } = await import('./output/process-failure.ts');
    return error instanceof CommanderError ? tellUsageFailure(argv, error) : tellFailure(argv, error);
  }
}

async function programFor(command: string | undefined): Promise<Command> {
  if (command === 'scan') return (await import('./scan-program.ts')).createScanProgram();
  return (await import('./program.ts')).createProgram();
}

// A reader that goes away (`heddle task list | head`) is no failure of ours.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

const code = await run(process.argv);
// Written out first: what a pipe has not taken yet would be lost. Then at once, whatever connection is still kept warm.
process.stdout.write('', () => process.exit(code));
