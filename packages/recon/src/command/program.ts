import type { Command } from 'commander';

import { createProgram } from '@heddle/base/terminal/program';
import { NODE_MIN, VERSION } from './package.ts';
import { addProbes, EXIT_CODES, RECON_DESCRIPTION, SCOPE_HELP } from './recon-command.ts';

/** Creates the command line of `heddle-recon`: the probes, without the other commands of Heddle. */
export function createReconProgram(): Command {
  const program = createProgram({
    name: 'heddle-recon',
    version: VERSION,
    nodeMin: NODE_MIN,
    description: RECON_DESCRIPTION,
    exitCodes: EXIT_CODES,
  });
  return addProbes(program).addHelpText('after', SCOPE_HELP);
}
