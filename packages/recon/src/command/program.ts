import type { Command } from 'commander';

import { createProgram, type ProgramOptions } from '@heddle/base/terminal/program';
import { NODE_MIN, VERSION } from './package.ts';
import { addProbes, EXIT_CODES, RECON_DESCRIPTION, registerReconCommand, SCOPE_HELP } from './recon-command.ts';

/** Creates the command line of `heddle-recon`, or that of another program with `recon` alone. */
export function createReconProgram(outer?: ProgramOptions): Command {
  if (outer !== undefined) {
    const whole = createProgram(outer);
    registerReconCommand(whole);
    return whole;
  }
  const program = createProgram({
    name: 'heddle-recon',
    version: VERSION,
    nodeMin: NODE_MIN,
    description: RECON_DESCRIPTION,
    exitCodes: EXIT_CODES,
  });
  return addProbes(program).addHelpText('after', SCOPE_HELP);
}
