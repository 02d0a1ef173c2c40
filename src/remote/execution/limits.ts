import { spawn } from 'node:child_process';

const MIB = 1024 * 1024;

/** Bounds that the kernel keeps for one process of a task. */
export interface ProcessLimits {
  /** What a process of Node has reserved before it does anything, bytes of writable private memory. */
  readonly baselineBytes: number;
  /** On top of that. */
  readonly memoryMb: number;
  readonly openFiles: number;
  /** Largest file that it can write. */
  readonly fileBytes: number;
  /** Processes and threads of its user; null where that user is not its own. */
  readonly processes: number | null;
}

/** Reserved addresses cost page tables even where they hold nothing. */
const ADDRESS_SPACE_BYTES = 256 * 1024 * MIB;

/** What a process holds beside what this limit counts, tables and stacks and pages of files, comes on top of it. */
const DATA_SHARE = 0.95;

/** The beginning of a command line that starts the rest of it within limits. */
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

/** How Node is started for tasks of so much memory. */
export function nodeFlags(memoryMb: number): readonly string[] {
  return [
    `--max-old-space-size=${memoryMb}`,
    // Fewer threads: less is reserved, and it starts sooner.
    '--v8-pool-size=1',
    '--no-addons',
    '--disable-warning=ExperimentalWarning',
  ];
}

/** All threads that Node starts on demand are there when it looks. */
const MEASURE = `
  const { readFileSync } = require('node:fs');
  const { stat } = require('node:fs/promises');
  Promise.all(Array.from({ length: 32 }, () => stat('/'))).then(() => {
    const kib = Number(/^VmData:\\s+(\\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
    process.stdout.write(String(kib * 1024));
  });
`;

/** Bytes of writable private memory that a fresh process of Node has on this machine; most of it is never touched. */
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
  if (!Number.isSafeInteger(bytes) || bytes <= 0) throw new Error(`cannot measure the memory of Node: ${output}`);
  return bytes;
}
