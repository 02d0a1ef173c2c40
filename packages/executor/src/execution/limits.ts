import { spawn } from 'node:child_process';

const MIB = 1024 * 1024;

/** Kernel limits of one task process. */
export interface ProcessLimits {
  /** Writable private memory that an idle Node process reserves, bytes. */
  readonly baselineBytes: number;
  /** Memory in addition to the baseline. */
  readonly memoryMb: number;
  readonly openFiles: number;
  /** Largest file it can write. */
  readonly fileBytes: number;
  /** Maximum processes and threads of its user; null if the user is shared. */
  readonly processes: number | null;
}

/** Limits reserved addresses, because they cost page tables even when unused. */
const ADDRESS_SPACE_BYTES = 256 * 1024 * MIB;

/** Share for data: page tables, stacks and file pages are not counted by this limit and come on top. */
const DATA_SHARE = 0.95;

/** Returns what a task may reserve beyond the baseline. */
export function dataBytes(memoryMb: number): number {
  return Math.floor(memoryMb * MIB * DATA_SHARE);
}

/** Returns a command prefix that applies the limits to the rest of the command line. */
export function limitedBy(limits: ProcessLimits): readonly [string, ...string[]] {
  const { baselineBytes, memoryMb, openFiles, fileBytes, processes } = limits;
  return [
    'prlimit',
    `--data=${baselineBytes + dataBytes(memoryMb)}`,
    `--as=${ADDRESS_SPACE_BYTES}`,
    '--core=0',
    `--nofile=${openFiles}`,
    `--fsize=${fileBytes}`,
    ...(processes === null ? [] : [`--nproc=${processes}`]),
  ];
}

/** Returns the Node flags for tasks with this much memory. */
export function nodeFlags(memoryMb: number): readonly string[] {
  return [...commonFlags(memoryMb), '--no-addons'];
}

/** Returns the Node flags of a process that is forked: V8 must not depend on threads, which are not forked. */
export function forkableNodeFlags(memoryMb: number): readonly string[] {
  return [...commonFlags(memoryMb), '--single-threaded', '--disable-sigusr1', '--no-flush-bytecode', '--no-lazy'];
}

function commonFlags(memoryMb: number): readonly string[] {
  return [
    `--max-old-space-size=${memoryMb}`,
    // Fewer threads reserve less memory and start faster.
    '--v8-pool-size=1',
    '--disable-warning=ExperimentalWarning',
  ];
}

/** Measures before and after the start of Node's on-demand threads. */
const MEASURE = `
  const { readFileSync } = require('node:fs');
  const { stat } = require('node:fs/promises');
  const bytes = () => 1024 * Number(/^VmData:\\s+(\\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
  const before = bytes();
  Promise.all(Array.from({ length: 32 }, () => stat('/'))).then(() => {
    process.stdout.write(JSON.stringify({ baselineBytes: bytes(), threadBytes: bytes() - before }));
  });
`;

/** Writable private memory that Node reserves, most of which is never touched. */
export interface Baseline {
  readonly baselineBytes: number;
  /** Part of it that its on-demand threads add. */
  readonly threadBytes: number;
}

/** Measures a fresh Node process. */
export async function measureBaseline(node: string, environment: Readonly<Record<string, string>>): Promise<Baseline> {
  const child = spawn(node, [...nodeFlags(256), '-e', MEASURE], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  if (!/^{"baselineBytes":\d+,"threadBytes":\d+}$/.test(output)) {
    throw new Error(`could not measure the memory of Node: ${output}`);
  }
  return JSON.parse(output) as Baseline;
}
