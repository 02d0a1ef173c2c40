import type { Command } from 'commander';

import { createProgram } from '@heddle/base/terminal/program';
import { NODE_MIN, VERSION } from './package.ts';
import { addScan, EXIT_CODES, SCAN_DESCRIPTION } from './scan-command.ts';

/** Creates the command line of `heddle-scan`: the scan, without the other commands of Heddle. */
export function createScanProgram(): Command {
  const program = createProgram({
    name: 'heddle-scan',
    version: VERSION,
    nodeMin: NODE_MIN,
    description: SCAN_DESCRIPTION,
    exitCodes: EXIT_CODES,
  });
  return addScan(program);
}
