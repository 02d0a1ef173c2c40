import type { Command } from 'commander';

import { isNodeSupported } from '../package-manifest.ts';
import { EXIT } from './failure.ts';

/**
 * Runs the command line of this process to the end: prints failures on standard error, then exits with the code.
 *
 * @param programFor loads and creates the command line, once this Node is known to be new enough
 */
export async function runProgram(nodeMin: string, programFor: () => Promise<Command>): Promise<void> {
  // A closed pipe (`heddle task list | head`) is not a failure.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const code = await exitCodeOf(process.argv, nodeMin, programFor);
  // Flushes first, so that output to a pipe is not lost, then exits regardless of open connections.
  process.stdout.write('', () => process.exit(code));
}

async function exitCodeOf(
  argv: readonly string[],
  nodeMin: string,
  programFor: () => Promise<Command>,
): Promise<number> {
  if (!isNodeSupported(process.versions.node, nodeMin)) {
    process.stderr.write(`error[FAILED]: Node ${nodeMin} or newer is required, this is ${process.versions.node}\n`);
    return EXIT.failed;
  }
  try {
    // Loaded only now: these modules do not load on an older Node.
    const { keepCompiledCode } = await import('../compile-cache.ts');
    keepCompiledCode(process.env);
    await (await programFor()).parseAsync(argv);
    return Number(process.exitCode ?? EXIT.ok);
  } catch (error) {
    const { printFailure, printUsageFailure } = await import('./process-failure.ts');
    const { CommanderError } = await import('commander');
    return error instanceof CommanderError ? printUsageFailure(argv, error) : printFailure(argv, error);
  }
}
