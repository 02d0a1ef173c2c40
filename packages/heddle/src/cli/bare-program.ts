import type { Command } from 'commander';

import { createProgram } from '@heddle/base/terminal/program';
import { NODE_MIN, VERSION } from '../app/package.ts';

/** Creates the command line without commands. Its errors are thrown as CommanderError. */
export function createBareProgram(): Command {
  return createProgram({
    name: 'heddle',
    version: VERSION,
    nodeMin: NODE_MIN,
    description: 'Self-hosted task orchestrator on PostgreSQL: dependencies, workflows, jobs, webhooks, a live console',
    exitCodes:
      'Exit codes: 0 success, 1 failed, 2 invalid input,\n3 not found, 4 unreachable, 5 denied, 130 interrupted by Ctrl-C.',
  });
}
