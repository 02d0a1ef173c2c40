import type { Command } from 'commander';

import { createProgram, type ProgramOptions } from '@heddle/base/terminal/program';
import { NODE_MIN, VERSION } from './package.ts';
import { addScan, EXIT_CODES, registerScanCommand, SCAN_DESCRIPTION } from './scan-command.ts';

/**
 * Creates the command line of `heddle-scan`, or that of another program with `scan` alone: it runs before each commit,
 * and loading the other commands of Heddle would double its start time.
 */
export function createScanProgram(outer?: ProgramOptions): Command {
  if (outer !== undefined) {
    const whole = createProgram(outer);
    registerScanCommand(whole);
    return whole;
  }
  const program = createProgram({
    name: 'heddle-scan',
    version: VERSION,
    nodeMin: NODE_MIN,
    description: SCAN_DESCRIPTION,
    exitCodes: EXIT_CODES,
  });
  return addScan(program);
}
