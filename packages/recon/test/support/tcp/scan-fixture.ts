import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import type { ProbeEnvironment, ProbeProgress, TcpOptions } from '../../../src/options.ts';
import type { PortRecord } from '../../../src/records.ts';
import { createPace } from '../../../src/targets/pace.ts';
import type { Endpoint, EndpointSource } from '../../../src/targets/port.ts';
import { scanTcp } from '../../../src/tcp/scan.ts';
import { systemClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import { eventually } from '@heddle/test-support/eventually';
import type { ListenRequest } from './listen-process.ts';
import type { ScanAnswer, ScanRequest } from './scan-process.ts';

const ALL_STATES = ['open', 'closed', 'filtered'] as const;

export function portsBetween(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

export function endpointsOf(ip: string, ports: readonly number[]): Endpoint[] {
  return ports.map((port) => ({ host: ip, ip, family: ip.includes(':') ? 6 : 4, port }));
}

/** A list as a source, in order. */
function sourceOf(endpoints: readonly Endpoint[]): EndpointSource {
  let at = 0;
  return {
    size: endpoints.length,
    next(max) {
      const batch = endpoints.slice(at, at + max);
      at += batch.length;
      return Promise.resolve(batch);
    },
  };
}

export function tcpOptions(endpoints: readonly Endpoint[], changes: Partial<TcpOptions> = {}): TcpOptions {
  return {
    endpoints: sourceOf(endpoints),
    method: 'connect',
    states: ALL_STATES,
    retries: 2,
    timeoutMs: 1000,
    concurrency: 128,
    banner: false,
    ...changes,
  };
}

export interface Watched extends ProbeEnvironment {
  progress: ProbeProgress;
  notices: string[];
}

export function environmentOf(changes: Partial<ProbeEnvironment> = {}): Watched {
  const watched: Watched = {
    clock: systemClock,
    random: systemRandom,
    signal: new AbortController().signal,
    pace: createPace({ clock: systemClock, rate: Infinity, hostRate: Infinity }),
    progress: { done: 0, total: 0, sent: 0, found: 0 },
    notices: [],
    onProgress: (progress) => void Object.assign(watched.progress, progress),
    onNotice: (notice) => void watched.notices.push(notice),
    ...changes,
  };
  return watched;
}

export async function collect(options: TcpOptions, environment: ProbeEnvironment): Promise<PortRecord[]> {
  const records: PortRecord[] = [];
  for await (const record of scanTcp(options, environment)) records.push(record);
  return records;
}

/** Returns the ports of the records in a state, in order. */
export function portsIn(records: readonly PortRecord[], state: PortRecord['state']): number[] {
  return records
    .filter((record) => record.state === state)
    .map(({ port }) => port)
    .sort((a, b) => a - b);
}

/** Waits until a number is stable for longer than two progress reports take. */
export async function untilSteady(read: () => number): Promise<void> {
  let last = -1;
  let same = 0;
  await eventually(() => {
    same = read() === last ? same + 1 : 0;
    last = read();
    return same >= 60;
  }, 'it does not change any more');
}

/** Counts the open sockets of this process: not those of other processes, nor pipes. */
export function openSockets(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('socket:');
    } catch {
      return false; // It was the descriptor of the listing itself.
    }
  }).length;
}

function script(name: string, request: unknown): string[] {
  return [process.execPath, fileURLToPath(new URL(name, import.meta.url)), JSON.stringify(request)];
}

export interface Listeners extends AsyncDisposable {
  ports: number[];
}

/** Starts the listening process, whose sockets are separate from this one's. */
export async function startListeners(request: ListenRequest, within: readonly string[] = []): Promise<Listeners> {
  const [command, ...rest] = [...within, ...script('./listen-process.ts', request)];
  const child = spawn(command!, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
  const line = await firstLine(child);
  return {
    ports: JSON.parse(line) as number[],
    async [Symbol.asyncDispose]() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
    },
  };
}

export async function firstLine(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) return line;
  throw new Error('it exited without output');
}

/** Scans from a separate process: in another network, or with fewer rights. */
export async function scanElsewhere(
  request: ScanRequest,
  within: readonly string[] = [],
  rights: { uid?: number } = {},
): Promise<ScanAnswer> {
  const [command, ...rest] = [...within, ...script('./scan-process.ts', request)];
  const child = spawn(command!, rest, { stdio: ['ignore', 'pipe', 'inherit'], ...rights });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const text = await firstLine(child);
  const code = await ended;
  if (code !== 0) throw new Error(`the scan ended with ${code}`);
  return JSON.parse(text) as ScanAnswer;
}
