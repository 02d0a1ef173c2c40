import type { Command } from 'commander';

import { createBareProgram } from './bare-program.ts';
import { registerScanCommand } from '@heddle/scan/command/scan-command';

/**
 * Creates the command line with `scan` only: it runs before each commit, and loading the other commands would double
 * its start time.
 */
export function createScanProgram(): Command {
  const program = createBareProgram();
  registerScanCommand(program);
  return program;
}
