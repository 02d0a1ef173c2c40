import type { JsonObject, JsonValue } from '@heddle/base/json';
import type { Clock } from '@heddle/base/clock';
import { errorOf, messageOf } from '@heddle/base/thrown';
import { COMMAND_KIND } from '@heddle/core/domain/command';
import type { CommandEnd, CommandFile, CommandRunner, CommandTier } from '@heddle/executor/execution/commands';
import { defineKind, FinalFailure, type KindContext, type KindDefinition } from '@heddle/kit';
import { CommandFailure } from '../definition/command-failure.ts';
import { TaskSuccess } from '../definition/task-success.ts';
import { collectArtifacts } from './collect-artifacts.ts';
import { commandSchema, type CommandInput } from './input.ts';
import { OutputLines } from './output-lines.ts';
import { ProgressCount } from './progress-count.ts';

const RESULT_BYTES_MAX = 1024 * 1024;
const REASON_LINE_CHARS = 300;
/** Output counts as activity, at most this often. */
const ACTIVITY_MS = 5_000;

export interface CommandOptions {
  /** What runs commands here, strongest isolation first. */
  runners: ReadonlyMap<CommandTier, () => Promise<CommandRunner>>;
  /** Programs that may run; empty: any. */
  programs: readonly string[];
  /** Images that may be used, a final `*` for any text; empty: any. */
  images: readonly string[];
  /** Whether commands may use the network if they ask for it. */
  network: boolean;
  memoryMaxMb: number;
  concurrency: number;
  clock: Clock;
}

/** `Command`: runs a program in a sandbox; its output becomes the task's log, and its result that of the task. */
export function command(options: CommandOptions): KindDefinition<JsonObject> {
  return defineKind({
    name: COMMAND_KIND,
    input: commandSchema,
    concurrency: options.concurrency,
    run: (input, context) => new CommandTask(input, context, options).run(),
  });
}

class CommandTask {
  readonly #input: CommandInput;
  readonly #context: KindContext;
  readonly #options: CommandOptions;
  readonly #stdout: Buffer[] = [];
  #stdoutBytes = 0;
  readonly #lastLines = { stdout: '', stderr: '' };
  readonly #progress: ProgressCount;
  #activeAt = 0;
  /** Why artifacts could not be stored. */
  #uncollected: Error | null = null;

  constructor(input: CommandInput, context: KindContext, options: CommandOptions) {
    this.#input = input;
    this.#context = context;
    this.#options = options;
    this.#progress = new ProgressCount((more) => context.progress(more));
  }

  async run(): Promise<TaskSuccess> {
    const { argv, env, stdin, files, image, memory_mb, network, timeout_secs } = this.#input;
    const runner = await this.#runner();
    const lines = { stdout: this.#lines('stdout'), stderr: this.#lines('stderr') };
    const { signal } = this.#context;
    const late = new AbortController();
    const cancelTimeout =
      timeout_secs === null ? undefined : this.#options.clock.after(timeout_secs * 1000, () => late.abort());
    const end = await runner
      .run(
        {
          argv,
          environment: env,
          stdin: Buffer.from(stdin),
          files: Object.entries(files).map(([path, file]) => ({ path, content: this.#contentOf(file) })),
          ...(image === null ? {} : { image }),
          memoryMb: memory_mb,
          network,
        },
        {
          signal: AbortSignal.any([signal, late.signal]),
          onOutput: (stream, chunk) => {
            lines[stream].push(chunk);
            if (stream === 'stdout') this.#keep(chunk);
            this.#noteActive();
          },
          onEnd: (directory) => this.#collect(directory),
        },
      )
      .finally(cancelTimeout);
    for (const each of Object.values(lines)) each.end();
    await this.#progress.stored();
    // Only now, when none of its processes runs any more.
    signal.throwIfAborted();
    if (late.signal.aborted && end.stopped)
      throw new Error(`it ran for longer than its timeout_secs, ${timeout_secs!}`);
    this.#requireSuccess(end);
    if (this.#uncollected !== null) throw this.#uncollected;
    const result = this.#resultOf(end);
    return new TaskSuccess(result, end.exitCode === null ? {} : { exit_code: end.exitCode });
  }

  /** @throws FinalFailure if this worker may not run the command, since no other attempt could */
  #runner(): Promise<CommandRunner> {
    const { runners, programs, images, network, memoryMaxMb } = this.#options;
    const { argv, isolation, image, memory_mb } = this.#input;
    // A container needs an image, so that only a task that names one runs in it.
    const tier = image === null ? (isolation ?? [...runners.keys()].find((each) => each !== 'container')) : 'container';
    const open = tier === undefined ? undefined : runners.get(tier);
    if (open === undefined) {
      const enabled = `HEDDLE_COMMANDS has ${[...runners.keys()].join(', ')}`;
      throw new FinalFailure(
        tier === undefined ? `image: is required: ${enabled}` : `isolation: ${tier} is not enabled; ${enabled}`,
      );
    }
    if (image !== null && images.length > 0 && !images.some((pattern) => matchesImage(pattern, image))) {
      throw new FinalFailure(`image: ${JSON.stringify(image)} is not among HEDDLE_COMMAND_IMAGES`);
    }
    if (image === null && programs.length > 0 && !programs.includes(argv[0]!)) {
      throw new FinalFailure(`argv: ${JSON.stringify(argv[0])} is not among HEDDLE_COMMAND_PROGRAMS`);
    }
    if (this.#input.network && !network) {
      throw new FinalFailure('network: commands have no network here; HEDDLE_COMMAND_NETWORK=1 allows it');
    }
    if (memory_mb > memoryMaxMb) {
      throw new FinalFailure(`memory_mb: ${memory_mb} is more than HEDDLE_COMMAND_MEMORY_MB, ${memoryMaxMb}`);
    }
    return open();
  }

  #contentOf(file: string | { artifact: string }): CommandFile['content'] {
    if (typeof file === 'string') return Buffer.from(file);
    return () => this.#context.artifacts.get(file.artifact);
  }

  /** Also of a command that failed: they may show why. */
  async #collect(directory: string): Promise<void> {
    const { artifacts } = this.#input;
    if (artifacts.length === 0 || this.#context.signal.aborted) return;
    try {
      await collectArtifacts(directory, artifacts, this.#context);
    } catch (error) {
      this.#uncollected = errorOf(error);
      this.#context.log.error({}, this.#uncollected.message);
    }
  }

  #lines(stream: 'stdout' | 'stderr'): OutputLines {
    return new OutputLines({
      redact: this.#context.redact,
      onLine: (line) => {
        if (line.trim() !== '') this.#lastLines[stream] = line.trim();
        this.#context.output(stream, line);
      },
      ...(stream === 'stdout' ? { onProgress: (done) => this.#progress.reach(done) } : {}),
    });
  }

  /** Of the output only as much as a result may have, and one byte more. */
  #keep(chunk: Buffer): void {
    if (this.#input.result === 'file' || this.#stdoutBytes > RESULT_BYTES_MAX) return;
    this.#stdoutBytes += chunk.length;
    this.#stdout.push(chunk);
  }

  #noteActive(): void {
    const now = this.#options.clock.monotonic();
    if (now - this.#activeAt < ACTIVITY_MS) return;
    this.#activeAt = now;
    void this.#context.progress(0).catch(() => undefined);
  }

  /** @throws Error that says how it ended, with its last line */
  #requireSuccess(end: CommandEnd): void {
    const { success_exit_codes: codes, memory_mb } = this.#input;
    const { exitCode, signal, outOfMemory, outOfDisk } = end;
    if (exitCode !== null && codes.includes(exitCode) && !outOfDisk) return;
    const how = outOfDisk
      ? 'it was killed because its files were larger than a working directory may be'
      : outOfMemory
        ? `it was killed because it needed more than its ${memory_mb} MiB of memory`
        : exitCode === null
          ? `it was killed by ${signal}`
          : `it exited with ${exitCode}`;
    // Its two streams arrive in no order, and errors are the more telling.
    const said = this.#lastLines.stderr || this.#lastLines.stdout;
    const reason = said === '' ? how : `${how}: ${said.slice(0, REASON_LINE_CHARS)}`;
    throw new CommandFailure(reason, exitCode);
  }

  #resultOf({ exitCode, result }: CommandEnd): JsonValue {
    const { result: source } = this.#input;
    if (source === 'file') return result === null ? { exit_code: exitCode } : jsonOrText(result.toString());
    if (this.#stdoutBytes > RESULT_BYTES_MAX) {
      throw new Error(`its output is larger than the ${RESULT_BYTES_MAX} bytes that a result may have`);
    }
    const text = Buffer.concat(this.#stdout).toString();
    if (source === 'text') return text.replace(/\n$/, '');
    if (source === 'json') return parsed(text, 'its output');
    return text
      .split('\n')
      .flatMap((line, index) => (line.trim() === '' ? [] : [parsed(line, `line ${index + 1} of its output`)]));
  }
}

function matchesImage(pattern: string, image: string): boolean {
  return pattern.endsWith('*') ? image.startsWith(pattern.slice(0, -1)) : image === pattern;
}

function parsed(text: string, what: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new Error(`${what} is not JSON: ${messageOf(error)}`, { cause: error });
  }
}

function jsonOrText(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
