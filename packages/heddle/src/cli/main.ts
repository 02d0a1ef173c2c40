#!/usr/bin/env node
import type { PackagedProgram } from '@heddle/base/terminal/program';
import { HEDDLE } from './packaged-program.ts';

type Start = (program: PackagedProgram) => Promise<void>;

/** Loads nothing of the other commands where a command needs nothing of them. */
async function startOf(command: string): Promise<Start> {
  switch (command) {
    case 'scan':
      return (await import('@heddle/scan/command/start')).start;
    case 'recon':
      return (await import('@heddle/recon/command/start')).start;
    default:
      return (await import('./start.ts')).start;
  }
}

const start = await startOf(process.argv[2] ?? '');
await start(HEDDLE);
