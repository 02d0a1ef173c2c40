#!/usr/bin/env node
import { runProgram } from '@heddle/base/terminal/run-program';
import { NODE_MIN } from './package.ts';

await runProgram(NODE_MIN, async () => (await import('./program.ts')).createReconProgram());
