#!/usr/bin/env node
import { runProgram } from '@heddle/base/terminal/run-program';
import { NODE_MIN } from '../app/package.ts';

await runProgram(NODE_MIN, async () => {
  if (process.argv[2] === 'scan') return (await import('./scan-program.ts')).createScanProgram();
  return (await import('./program.ts')).createProgram();
});
