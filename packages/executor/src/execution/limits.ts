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

/** Returns a command prefix that applies the limits to the rest of the command line. */
export function limitedBy(limits: ProcessLimits): readonly string[] {
  const { baselineBytes, memoryMb, openFiles, fileBytes, processes } = limits;
  return [
    'prlimit',
    `--data=${baselineBytes + Math.floor(memoryMb * MIB * DATA_SHARE)}`,
    `--as=${ADDRESS_SPACE_BYTES}`,
    '--core=0',
    `--nofile=${openFiles}`,
    `--fsize=${fileBytes}`,
    ...(processes === null ? [] : [`--nproc=${processes}`]),
  ];
}

/** Returns the Node flags for tasks with this much memory. */
export function nodeFlags(memoryMb: number): readonly string[] {
  return [
    `--max-old-space-size=${memoryMb}`,
    // Fewer threads reserve less memory and start faster.
    '--v8-pool-size=1',
    '--no-addons',
    '--disable-warning=ExperimentalWarning',
  ];
}

/** Starts all of Node's on-demand threads before measuring. */
const MEASURE = `
  const { readFileSync } = require('node:fs');
  const { stat } = require('node:fs/promises');
  Promise.all(Array.from({ length: 32 }, () => stat('/'))).then(() => {
    const kib = Number(/^VmData:\\s+(\\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
    process.stdout.write(String(kib * 1024));
  });
`;

/** Measures the writable private memory of a fresh Node process, bytes; most of it is never touched. */
export async function measureBaseline(node: string, environment: Readonly<Record<string, string>>): Promise<number> {
  const child = spawn(node, [...nodeFlags(256), '-e', MEASURE], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  const bytes = Number(output);
  if (!Number.isSafeInteger(bytes) || bytes <= 0) throw new Error(`could not measure the memory of Node: ${output}`);
  return bytes;
}
