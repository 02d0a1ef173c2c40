/** Runs commands that mean harm in one tier of a real server, and checks after each that nothing of it is left. */
import assert from 'node:assert/strict';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { buffer } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { systemClock } from '@heddle/base/clock';
import { newId } from '@heddle/base/random';
import { messageOf } from '@heddle/base/thrown';
import { HeddleApiError, HeddleClient, type Task } from '@heddle/client';
import { ControlGroups } from '@heddle/executor/internal/execution/control-groups';
import { firstSlotUser } from '@heddle/executor/internal/execution/slots';
import { startHeddle, type Heddle } from '@heddle/test-support/cli/heddle';
import { ENGINE, importImage } from '@heddle/test-support/container-image';
import { eventually } from '@heddle/test-support/eventually';
import { processesOfTasks } from '@heddle/test-support/executor/execution/traces';

type Tier = 'jail' | 'container' | 'process';

/** What must hold before a command may run here. */
type Requirement = 'confined' | 'limited processes' | 'limited memory' | 'x64';

interface Expected {
  /** `Success`, `Canceled`, `timeout`, or what the reason of its failure contains; several: one of them. */
  readonly ends: string | readonly string[];
  /** Expressions, each for some line of its log. */
  readonly log?: readonly string[];
  /** Expressions that no line matches. */
  readonly not_log?: readonly string[];
  /** Names of all its artifacts; with a final `?` it may be missing. */
  readonly artifacts?: readonly string[];
  readonly result?: unknown;
  readonly progress?: number;
}

interface HostileCommand extends Expected {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Instead of the default, MiB. */
  readonly memory?: number;
  /** Seconds from its start. */
  readonly timeout?: number;
  readonly stdin_chars?: number;
  /** It is canceled when it has logged this line. */
  readonly cancel_at?: string;
  /** Whether another command must end while it runs. */
  readonly meanwhile?: boolean;
  readonly requires?: readonly Requirement[];
  /** It takes long: the tier in which it always runs. */
  readonly costly?: Tier;
  readonly but?: Readonly<Partial<Record<Tier, Partial<Expected>>>>;
}

interface Corpus {
  readonly defaults: { readonly memory_mb: number; readonly timeout: number };
  readonly commands: readonly HostileCommand[];
}

const CORPUS = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../kinds/command/hostile-commands.json'), 'utf8'),
) as Corpus;
const CANARY = 'CANARY-CONTENT';
/** Processes and threads that the runner of commands grants. */
const PROCESSES_MAX = 512;
const USERS = 8_192;
const SHARED = ['/tmp', '/var/tmp', '/dev/shm'];
/** That the whole process may hold more than before; a flood writes several times as much. */
const HELD_BYTES_MAX = 256 * 1024 * 1024;
const WATCH_MS = 1_000;
/** So few that a read returns all of them, however long they are. */
const LAST_LINES = 20;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** The garbage is collected only if, with it, more is held than allowed: that takes as long as a command does. */
function heldBytes(allowed = 0): number {
  const held = countBytes();
  if (held < allowed) return held;
  collectGarbage();
  return countBytes();
}

function countBytes(): number {
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
}

/** Runs the whole corpus in a tier, or reports why not. */
export function runHostileCommands(tier: Tier): void {
  describe(`hostile commands in the tier ${tier}`, { concurrency: false }, () => {
    const bench = new Bench(tier);
    before(() => bench.open());
    after(() => bench.close());

    for (const command of CORPUS.commands) {
      test(command.name, async (t) => {
        const missing = bench.missing ?? bench.missingFor(command.requires ?? []) ?? whyTooCostly(command, tier);
        if (missing === null) await bench.run(command);
        else t.skip(`NOT RUN in the tier ${tier}: ${missing}`);
      });
    }
  });
}

function whyTooCostly({ costly }: HostileCommand, tier: Tier): string | null {
  if (costly === undefined || costly === tier || process.env['HEDDLE_TEST_LONG'] === '1') return null;
  return `it takes long and runs in the tier ${costly}; HEDDLE_TEST_LONG=1 runs it in every tier`;
}

class Bench {
  readonly #tier: Tier;
  /** Why the tier is not available; null if it is. */
  missing: string | null = null;
  readonly #met = new Map<Requirement, string | null>();
  #image: string | null = null;
  #directory = '';
  #server: Heddle | null = null;
  #client!: HeddleClient;
  #bytesBefore = 0;

  constructor(tier: Tier) {
    this.#tier = tier;
  }

  async open(): Promise<void> {
    this.#directory = await mkdtemp(join(tmpdir(), 'heddle-hostile-'));
    await writeFile(join(this.#directory, 'canary'), CANARY, { mode: 0o600 });
    try {
      if (this.#tier === 'container') this.#image = await importImage();
    } catch (error) {
      this.missing = messageOf(error);
      return;
    }
    this.#server = await startHeddle({
      flags: {
        HEDDLE_COMMANDS: this.#tier,
        HEDDLE_COMMAND_DISK_MB: '32',
        HEDDLE_COMMAND_ENGINE: ENGINE.command,
        HEDDLE_COMMAND_PARAMETERS: ENGINE.parameters.join(','),
        HEDDLE_ARTIFACTS_DIR: join(this.#directory, 'artifacts'),
        HEDDLE_ARTIFACT_MB: '16',
      },
    });
    this.#client = new HeddleClient({ baseUrl: this.#server.url });
    const first = await this.#end(await this.#submit({ run: 'echo "$EUID $(ulimit -u) $$"' }));
    if (first.status === 'Success') await this.#learn(first.id);
    else this.missing = first.failure_reason ?? first.status;
    this.#bytesBefore = heldBytes();
  }

  async close(): Promise<void> {
    await this.#server?.stop();
    assert.deepEqual(processesOfTasks(), []);
    await rm(this.#directory, { recursive: true });
  }

  /** Finds out what confines a command here, with one that does no harm. */
  async #learn(id: string): Promise<void> {
    const { lines } = await this.#client.taskLogs(id);
    const [user, processes, pid] = lines[0]!.text.split(' ').map(Number) as [number, number, number];
    const isOther = user !== process.getuid?.() && isSlotUser(user);
    const isConfined = isOther || (this.#tier !== 'process' && pid < 10);
    const groups = ControlGroups.open(systemClock, `heddle-hostile-test-${process.pid}-1`);
    groups?.close();
    const hasGroups = groups !== null || this.#tier === 'container';
    this.#met.set('confined', isConfined ? null : 'its processes share the user and the namespace of this one');
    this.#met.set('limited processes', processes <= PROCESSES_MAX ? null : `it may have ${processes} processes`);
    this.#met.set('limited memory', hasGroups ? null : 'this process may not create control groups');
    this.#met.set('x64', process.arch === 'x64' ? null : 'it makes system calls of x86-64');
  }

  missingFor(requirements: readonly Requirement[]): string | null {
    return requirements.map((each) => this.#met.get(each)).find((why) => typeof why === 'string') ?? null;
  }

  async run(command: HostileCommand): Promise<void> {
    const expected: Expected = { ...command, ...command.but?.[this.#tier] };
    const { input, memory = CORPUS.defaults.memory_mb, timeout, stdin_chars: stdinChars } = command;
    const id = await this.#submit(
      {
        ...input,
        memory_mb: memory,
        env: { CANARY: join(this.#directory, 'canary') },
        ...(stdinChars === undefined ? {} : { stdin: 'x'.repeat(stdinChars) }),
      },
      timeout ?? CORPUS.defaults.timeout,
    );
    const peak = command.meanwhile === true ? this.#watchMemory() : () => this.#heldBytes();
    if (command.cancel_at !== undefined) await this.#cancelAt(id, command.cancel_at);
    if (command.meanwhile === true) await this.#requireHealthy();
    const task = await this.#end(id);
    await eventually(() => processesOfTasks().length === 0, 'no process of it is left');
    const held = peak() - this.#bytesBefore;
    assert.ok(held < HELD_BYTES_MAX, `the worker held ${held} bytes`);
    assertEnd(task, expected);
    await this.#assertLog(id, expected);
    await this.#assertArtifacts(id, expected.artifacts ?? []);
    if (expected.result !== undefined) {
      assert.deepEqual((await this.#client.taskResult(id))?.data, expected.result, 'result');
    }
    if (expected.progress !== undefined) assert.equal(task.success, expected.progress, 'progress');
    assert.deepEqual(
      (await this.#client.taskAttempts(id)).map(({ attempt, outcome }) => [attempt, outcome === null]),
      [[1, false]],
    );
    await this.#requireHealthy();
    await this.#assertNothingLeft();
  }

  async #submit(input: Record<string, unknown>, timeout = CORPUS.defaults.timeout): Promise<string> {
    const metadata = { ...input, ...(this.#image === null ? {} : { image: this.#image }) };
    const task = { name: 'hostile', kind: 'Command', metadata, timeout, timeout_basis: 'start' as const };
    const idempotencyKey = newId();
    // On a busy machine the server may close an idle connection that the client is about to use.
    const submitted = await eventually(
      () => this.#client.submit([task], { idempotencyKey }).catch((error: unknown) => unlessDisconnected(error)),
      'the submission is answered',
    );
    return submitted.tasks[0]!.id;
  }

  #end(id: string): Promise<Task> {
    return eventually(
      async () => {
        const task = await this.#client.getTask(id);
        return task.ended_at === null ? undefined : task;
      },
      `task ${id} has ended`,
      1_200_000,
    );
  }

  async #cancelAt(id: string, line: string): Promise<void> {
    await eventually(
      async () => (await this.#client.taskLogs(id)).lines.some(({ text }) => text === line),
      `it has logged ${line}`,
    );
    try {
      await this.#client.cancelTask(id);
    } catch (error) {
      // It met a limit before it was canceled; how it may end, `assertEnd` judges.
      if (!(error instanceof HeddleApiError && error.status === 409)) throw error;
    }
  }

  async #requireHealthy(): Promise<void> {
    const task = await this.#end(await this.#submit({ argv: ['true'] }));
    assert.equal(task.status, 'Success', `a healthy command: ${task.failure_reason}`);
  }

  /** Returns a function that ends the watch and returns the largest number of bytes held meanwhile. */
  #watchMemory(): () => number {
    let most = this.#heldBytes();
    const timer = setInterval(() => (most = Math.max(most, this.#heldBytes())), WATCH_MS);
    return () => {
      clearInterval(timer);
      return Math.max(most, this.#heldBytes());
    };
  }

  #heldBytes(): number {
    return heldBytes(this.#bytesBefore + HELD_BYTES_MAX);
  }

  async #assertLog(id: string, { log = [], not_log: notLog = [] }: Expected): Promise<void> {
    if (log.length + notLog.length === 0) return;
    const lines = await this.#logOf(id);
    const shown = JSON.stringify(lines.slice(-20)).slice(0, 2_000);
    for (const pattern of log)
      assert.ok(
        lines.some((line) => new RegExp(pattern, 'u').test(line)),
        `${pattern}: ${shown}`,
      );
    for (const pattern of notLog) {
      assert.ok(!lines.some((line) => new RegExp(pattern, 'u').test(line)), `not ${pattern}: ${shown}`);
    }
  }

  /** The first lines of its log and the last ones. */
  async #logOf(id: string): Promise<string[]> {
    const first = await this.#client.taskLogs(id, { from: 0 });
    const last = await this.#client.taskLogs(id, { tail: LAST_LINES });
    return [...first.lines, ...last.lines].map(({ text }) => text);
  }

  async #assertArtifacts(id: string, expected: readonly string[]): Promise<void> {
    const artifacts = await this.#client.artifacts.list(id);
    const names = artifacts.map(({ name }) => name).toSorted();
    const required = expected.filter((name) => !name.endsWith('?'));
    const allowed = new Set(expected.map((name) => name.replace(/\?$/, '')));
    assert.deepEqual(
      names.filter((name) => required.includes(name) || !allowed.has(name)),
      required,
      'artifacts',
    );
    for (const { id: artifact, size } of artifacts) {
      const content = await buffer(await this.#client.artifacts.download(artifact));
      assert.equal(content.length, size);
      assert.doesNotMatch(content.toString(), /^root:|CANARY/);
    }
  }

  async #assertNothingLeft(): Promise<void> {
    assert.equal(await readFile(join(this.#directory, 'canary'), 'utf8'), CANARY);
    assert.deepEqual(
      (await readdir(this.#directory)).filter((name) => name !== 'artifacts'),
      ['canary'],
    );
    // A canceled task has ended before its command is cleared away.
    await eventually(async () => (await this.#directories()).length === 0, 'its directory is removed');
    assert.deepEqual(filesOfTasks(), [], 'files outside of its directory');
    assert.deepEqual(sharedMemoryOfTasks(), [], 'shared memory, queues and semaphores');
  }

  /** Working directories of commands of this process. */
  async #directories(): Promise<string[]> {
    const stages = readdirSync(tmpdir()).filter((name) => name.includes(`-${process.pid}-`));
    const names = stages.map((stage) => readdir(join(tmpdir(), stage, 'commands')).catch(() => []));
    return (await Promise.all(names)).flat();
  }
}

function unlessDisconnected(error: unknown): undefined {
  if (!(error instanceof TypeError)) throw error;
}

function isSlotUser(user: number): boolean {
  const first = firstSlotUser();
  return first !== null && user >= first && user < first + USERS;
}

function filesOfTasks(): string[] {
  return SHARED.flatMap((directory) =>
    readdirSync(directory).flatMap((name) => {
      const path = join(directory, name);
      try {
        return isSlotUser(lstatSync(path).uid) ? [path] : [];
      } catch {
        return [];
      }
    }),
  );
}

function sharedMemoryOfTasks(): string[] {
  return ['shm', 'msg', 'sem'].flatMap((kind) => {
    const [head = '', ...rows] = readFileSync(`/proc/sysvipc/${kind}`, 'utf8').trim().split('\n');
    const column = head.trim().split(/\s+/).indexOf('uid');
    return rows.filter((row) => isSlotUser(Number(row.trim().split(/\s+/)[column])));
  });
}

function assertEnd(task: Task, { ends }: Expected): void {
  const reason = task.failure_reason ?? '';
  const fits = (end: string): boolean => {
    if (end === 'Success' || end === 'Canceled') return task.status === end;
    return task.status === 'Failure' && reason.includes(end);
  };
  assert.ok([ends].flat().some(fits), `it ended with ${task.status}: ${reason}`);
}
