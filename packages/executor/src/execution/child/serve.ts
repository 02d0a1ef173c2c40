import { closeSync, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';

import type { EventDefinition } from '@heddle/kit/event';
import { failureOf } from './failure.ts';
import { FRAME, FrameReader, type JobHeader } from './frames.ts';
import { loadEvents } from './modules.ts';
import { sendFrame, sendJson, sendText } from './outgoing.ts';
import { type ReceivedJob, runJob } from './run-job.ts';

const { parse, stringify } = JSON;
const STDERR = 2;
const open = openSync;
const write = writeSync;
const close = closeSync;
const exit = process.exit.bind(process);
const schedule = setTimeout;
const unschedule = clearTimeout;

const NOTHING = new Uint8Array(0);
/** Exit code of an event that calls `process.abort`. */
const ABORTED = 70;
const OUTLIVES_MS = 20;
/** Descriptors that a job may leak; a process with more would soon run out. */
const DESCRIPTORS_LEFT_MAX = 32;

interface CurrentJob {
  readonly serial: number;
  readonly controller: AbortController;
}

let input: Socket;
let current: CurrentJob | null = null;
/** Lowest free descriptor before the first job. */
let firstFree = Infinity;
let leftover: NodeJS.Timeout | undefined;

function answerFailure(serial: number, thrown: unknown): void {
  const { code, message, details } = failureOf(thrown);
  sendJson(FRAME.error, serial, { code, message, details });
}

async function runReceived(job: ReceivedJob): Promise<void> {
  const { serial } = job;
  const controller = new AbortController();
  current = { serial, controller };
  // From here on only the event's own work keeps the process alive until it settles.
  input.unref();
  try {
    const text = await runJob(job, controller.signal);
    if (leaksDescriptors()) sendFrame(FRAME.leaving, NOTHING);
    sendText(FRAME.result, serial, text);
  } catch (error) {
    if (leaksDescriptors()) sendFrame(FRAME.leaving, NOTHING);
    answerFailure(serial, error);
  }
  current = null;
  endUnlessSettled(true);
}

/**
 * Ends the process if work outlives its job. Two timer rounds let an idle process settle in between, however late it is
 * scheduled.
 */
function endUnlessSettled(isFirst: boolean): void {
  leftover = schedule(() => (isFirst ? endUnlessSettled(false) : exit(0)), OUTLIVES_MS).unref();
}

/** Called when nothing keeps the process alive: the job has ended or can never end. */
function settle(): void {
  if (current !== null) {
    abandon(new Error("the event's promise can never settle: no pending work is left"));
    return;
  }
  unschedule(leftover);
  input.ref();
  sendFrame(FRAME.settled, NOTHING);
}

function lowestFreeDescriptor(): number {
  try {
    const descriptor = open('/dev/null', 'r');
    close(descriptor);
    return descriptor;
  } catch {
    return Infinity;
  }
}

function leaksDescriptors(): boolean {
  return lowestFreeDescriptor() > firstFree + DESCRIPTORS_LEFT_MAX;
}

/** Preloads a module. A failure is ignored, because the job that needs the module reports it. */
async function load(url: string): Promise<void> {
  await loadEvents(url).catch(() => undefined);
  sendFrame(FRAME.loaded, NOTHING);
}

async function describe(url: string): Promise<void> {
  try {
    const events = [...(await loadEvents(url)).values()].map(descriptionOf);
    sendFrame(FRAME.described, Buffer.from(stringify(events)));
  } catch (error) {
    answerFailure(0, error);
  }
}

function descriptionOf({ name, timeout_secs, memory_mb, tier, idempotent }: EventDefinition): unknown {
  return { name, timeout_secs, memory_mb, tier, idempotent };
}

function urlIn(content: Buffer): string {
  return (parse(content.toString()) as { url: string }).url;
}

function receivedJob(content: Buffer): ReceivedJob {
  const headerEnd = 8 + content.readUInt32BE(4);
  return {
    serial: content.readUInt32BE(0),
    header: parse(content.toString('utf8', 8, headerEnd)) as JobHeader,
    args: content.toString('utf8', headerEnd),
  };
}

const reader = new FrameReader({
  contentBytesMax: () => 0xffff_ffff,
  onFrame: (type, content) => {
    if (type === FRAME.job) void runReceived(receivedJob(content));
    else if (type === FRAME.describe) void describe(urlIn(content));
    else if (type === FRAME.load) void load(urlIn(content));
    else if (type === FRAME.abort) current?.controller.abort();
  },
  onBreach: () => exit(1),
});

/** Fails the job after an error outside its promise chain, such as an unhandled rejection. */
function abandon(thrown: unknown): void {
  if (current !== null) {
    sendFrame(FRAME.leaving, NOTHING);
    answerFailure(current.serial, thrown);
  }
  exit(1);
}

/** Reads jobs from descriptor 0 and answers on descriptor 3, one job at a time. */
export function serve(): void {
  process.on('uncaughtException', abandon);
  process.on('unhandledRejection', abandon);
  process.on('beforeExit', settle);
  // Only Node itself aborts otherwise, when it is out of memory.
  process.abort = () => {
    write(STDERR, 'the event called process.abort\n');
    return exit(ABORTED);
  };
  readFrom(0);
  // No executor is left to answer.
  input.on('end', () => exit(0));
  input.on('error', () => exit(0));
  firstFree = lowestFreeDescriptor();
  sendFrame(FRAME.ready, NOTHING);
}

function readFrom(descriptor: number): void {
  input = new Socket({ fd: descriptor, readable: true, writable: false });
  input.on('data', (chunk: Buffer) => reader.push(chunk));
}

/** Serves the frames in a pipe that ends, so that later ones find the code compiled. */
export async function rehearse(descriptor: number): Promise<void> {
  readFrom(descriptor);
  process.once('beforeExit', settle);
  await new Promise((resolve) => input.once('close', resolve));
}
