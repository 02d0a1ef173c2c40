import type { PackagedProgram } from '@heddle/base/terminal/program';

/** The command line of `heddle`. This file imports nothing, since every command loads it first. */
export const HEDDLE: PackagedProgram = {
  name: 'heddle',
  directory: `${import.meta.dirname}/../..`,
  description: 'Self-hosted task orchestrator on PostgreSQL: dependencies, workflows, jobs, webhooks, a live console',
  exitCodes:
    'Exit codes: 0 success, 1 failed, 2 invalid input,\n3 not found, 4 unreachable, 5 denied, 130 interrupted by Ctrl-C.',
};
