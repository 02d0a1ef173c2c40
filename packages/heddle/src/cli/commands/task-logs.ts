import type { Output } from '@heddle/base/terminal/output';
import { count, printable } from '@heddle/base/terminal/text';
import type { ClientContext } from '../output/client-command.ts';
import { CLIENT_EXIT, type ClientExit } from '../output/exit-codes.ts';
import type { LogLine } from '../output/wire.ts';

export interface LogOptions {
  follow?: boolean;
  attempt?: number;
  tail?: number;
  timestamps?: boolean;
}

/** Writes what a task logged: output as it was, other lines with their level. With `--json` one object a line. */
export async function showLogs(context: ClientContext, options: LogOptions, id: string): Promise<ClientExit> {
  const { client, output } = context;
  const { attempt, tail } = options;
  const writer = new LogWriter(output, { timestamps: options.timestamps === true, isTail: tail !== undefined });
  const which = { ...(attempt === undefined ? {} : { attempt }) };
  if (options.follow === true)
    return followLogs(context, { ...which, ...(tail === undefined ? {} : { tail }) }, id, writer);
  let page = await client.taskLogs(id, { ...which, ...(tail === undefined ? {} : { tail }) });
  writer.write(page.attempt, page.lines);
  while (page.attempt !== null && page.lines.length > 0) {
    page = await client.taskLogs(id, { attempt: page.attempt, from: page.next });
    writer.write(page.attempt, page.lines);
  }
  if (writer.isEmpty) output.notice('it has logged nothing');
  return CLIENT_EXIT.ok;
}

async function followLogs(
  { client, io }: ClientContext,
  which: { attempt?: number; tail?: number },
  id: string,
  writer: LogWriter,
): Promise<ClientExit> {
  const stop = new AbortController();
  const unsubscribe = io.onInterrupt(() => stop.abort());
  try {
    for await (const { attempt, lines } of client.followTaskLogs(id, which, stop.signal)) writer.write(attempt, lines);
    return stop.signal.aborted ? CLIENT_EXIT.interrupted : CLIENT_EXIT.ok;
  } finally {
    unsubscribe();
  }
}

export interface LogWriterOptions {
  timestamps: boolean;
  /** Whether the first line that comes need not be the first one of its attempt. */
  isTail?: boolean;
  /** Named with each line; absent if all lines are of one task. */
  task?: { task_id: string; local_id: string | null; name: string };
}

/** Writes lines, says where an attempt begins if there are several, and how many lines were left out. */
export class LogWriter {
  readonly #output: Output;
  readonly #options: LogWriterOptions;
  #attempt: number | null = null;
  #next = 0;

  constructor(output: Output, options: LogWriterOptions) {
    this.#output = output;
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#attempt === null;
  }

  write(attempt: number | null, lines: readonly LogLine[]): void {
    if (attempt === null || lines.length === 0) return;
    if (this.#attempt !== attempt) {
      if (this.#attempt !== null && !this.#output.json)
        this.#output.line(this.#output.paint('dim', `attempt ${attempt}`));
      const isFirst = this.#attempt === null;
      this.#attempt = attempt;
      this.#next = isFirst && this.#options.isTail === true ? lines[0]!.number : 0;
    }
    for (const line of lines) this.#writeLine(attempt, line);
  }

  #writeLine(attempt: number, line: LogLine): void {
    const omitted = line.number - this.#next;
    this.#next = line.number + 1;
    if (this.#output.json) {
      this.#output.document({ ...this.#options.task, attempt, ...line });
      return;
    }
    if (omitted > 0) this.#output.line(this.#output.paint('dim', `… ${count(omitted, 'line')} left out …`));
    const { task, timestamps } = this.#options;
    const prefix = task === undefined ? '' : `${printable(task.local_id ?? task.name)} | `;
    const time = timestamps ? `${line.at} ` : '';
    const level = line.level === null || line.level === 'info' ? '' : `${line.level}: `;
    const text = `${prefix}${time}${level}${printable(line.text)}`;
    // As the command itself would.
    if (line.stream === 'stderr') this.#output.notice(text);
    else this.#output.line(text);
  }
}
