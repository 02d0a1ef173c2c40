import { Argument, type Command } from 'commander';

import type { Output } from '@heddle/base/terminal/output';
import { writeTable } from '@heddle/base/terminal/table';
import { printable } from '@heddle/base/terminal/text';
import { clientCommand, processIo, type ClientContext, type CommandIo } from '../output/client-command.ts';
import type { Home, ListedQueue, Worker } from '../output/wire.ts';

const PLACES = ['workers', 'queues'] as const;

/** Adds `heddle status`: what needs attention, and where tasks run and wait. */
export function registerStatusCommand(program: Command, io: CommandIo = processIo): void {
  clientCommand(
    program
      .command('status')
      .description('Show what fails, what waits and what needs attention')
      .addArgument(new Argument('[place]', 'List the workers, or the queues with their depth and age').choices(PLACES)),
    io,
    (context, _options, place?: string) => {
      if (place === 'workers') return listWorkers(context);
      if (place === 'queues') return listQueues(context);
      return showHome(context);
    },
  );
}

async function showHome({ client, output }: ClientContext): Promise<undefined> {
  const home = await client.overview.home();
  output.result(home, () => writeHome(output, home));
  return undefined;
}

function writeHome(output: Output, { now, open_runs, attention, failing, waiting }: Home): void {
  const numbers = Object.entries(now).map(
    ([name, count]) => `${shown(count)} ${NUMBER_NAMES[name as keyof Home['now']]}`,
  );
  output.line(`${shown(open_runs)} open runs; tasks: ${numbers.join(', ')}`);
  for (const { severity, title, remedy } of attention) {
    output.line(output.paint(severity === 'error' ? 'red' : 'yellow', `${severity}: ${printable(title)}`));
    output.line(`  ${printable(remedy)}`);
  }
  if (attention.length === 0) output.line(output.paint('green', 'nothing needs attention'));
  if (failing.length > 0) {
    writeTable(
      output,
      [
        { header: 'FAILED', value: ({ tasks, tasks_capped }) => `${tasks}${tasks_capped ? '+' : ''}`, align: 'right' },
        { header: 'KIND', value: ({ kind }) => kind },
        { header: 'SINCE', value: ({ first_at }) => first_at },
        { header: 'REASON', value: ({ reason }) => reason, flexible: true },
        { header: 'TASK', value: ({ sample }) => sample.task_id },
      ],
      failing,
    );
  }
  if (waiting.length > 0) {
    writeTable(
      output,
      [
        { header: 'WAITING', value: ({ tasks, tasks_capped }) => `${tasks}${tasks_capped ? '+' : ''}`, align: 'right' },
        { header: 'SINCE', value: ({ since }) => since ?? '-' },
        { header: 'WHY', value: ({ text }) => text, flexible: true },
      ],
      waiting,
    );
  }
}

const NUMBER_NAMES: Readonly<Record<keyof Home['now'], string>> = {
  running: 'running',
  ready: 'ready',
  waiting: 'waiting',
  delayed: 'delayed',
  paused: 'paused',
  failed_last_day: 'failed in 24 h',
};

function shown({ n, n_capped }: Home['open_runs']): string {
  return `${n}${n_capped ? '+' : ''}`;
}

async function listWorkers({ client, output }: ClientContext): Promise<undefined> {
  const workers = await client.overview.workers();
  output.result(workers, () => {
    if (workers.length === 0) output.line('no workers');
    else writeWorkers(output, workers);
  });
  return undefined;
}

const STATE_STYLES = { live: 'green', stale: 'yellow', lost: 'red' } as const satisfies Record<Worker['state'], string>;

function writeWorkers(output: Output, workers: readonly Worker[]): void {
  writeTable(
    output,
    [
      { header: 'WORKER', value: ({ name }) => name },
      { header: 'TYPE', value: ({ type }) => type },
      { header: 'STATE', value: ({ state }) => state, style: ({ state }) => STATE_STYLES[state] },
      { header: 'RUNNING', value: ({ running }) => String(running), align: 'right' },
      { header: 'LIMIT', value: ({ concurrency }) => String(concurrency ?? '-'), align: 'right' },
      { header: 'LAST SEEN', value: ({ last_seen_at }) => last_seen_at },
      { header: 'VERSION', value: ({ version }) => version ?? '-' },
      { header: 'KINDS', value: ({ kinds }) => kinds.join(', '), flexible: true },
    ],
    workers,
  );
}

async function listQueues({ client, output }: ClientContext): Promise<undefined> {
  const queues = await client.overview.queues();
  output.result(queues, () => {
    if (queues.length === 0) output.line('no queues with tasks or messages');
    else writeQueues(output, queues);
  });
  return undefined;
}

function writeQueues(output: Output, queues: readonly ListedQueue[]): void {
  writeTable(
    output,
    [
      { header: 'QUEUE', value: ({ name }) => name },
      { header: 'TYPE', value: ({ type }) => type },
      { header: 'READY', value: ({ ready }) => shown(ready), align: 'right' },
      { header: 'OLDEST', value: ({ oldest_at }) => oldest_at ?? '-' },
      { header: 'IN FLIGHT', value: ({ in_flight }) => String(in_flight), align: 'right' },
      { header: 'DELAYED', value: ({ delayed }) => String(delayed), align: 'right' },
      { header: 'DEAD', value: ({ dead }) => String(dead), align: 'right' },
      { header: 'WORKERS', value: ({ workers }) => String(workers), align: 'right' },
    ],
    queues,
  );
}
