import type { Command } from 'commander';

import { createBareProgram } from './bare-program.ts';
import { registerScanCommand } from './commands/scan.ts';

/** The command line with `scan` alone: it runs before each commit, and the others' modules would take half of its start. */
export function createScanProgram(): Command {
  const program = createBareProgram();
  registerScanCommand(program);
  return program;
}
