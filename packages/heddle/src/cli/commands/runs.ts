import { InvalidArgumentError, Option, type Command } from 'commander';

import { RUN_WIRE_STATES } from '@heddle/base/vocabulary/run';
import type { Output } from '@heddle/base/terminal/output';
import { writeTable } from '@heddle/base/terminal/table';
import { duration } from '@heddle/base/terminal/text';
import {
  clientCommand,
  parseId,
  processIo,
  wholeNumber,
  type ClientContext,
  type CommandIo,
} from '../output/client-command.ts';
import { given } from '../output/list-options.ts';
import { RUN_LOOKS } from '../output/status.ts';
import type { Run, RunList, SearchResult } from '../output/wire.ts';
import { tookOf } from '../output/work.ts';

interface ListOptions {
  state?: 'open' | 'failing' | Run['state'];
  name?: string;
  search?: string;
  type?: Run['type'];
  kind?: string;
  job?: string;
  metadata?: Record<string, unknown>;
  since?: string;
  until?: string;
  after?: string;
  pageSize?: number;
}

/** Adds `heddle runs …` and `heddle search`. */
export function registerRunsCommands(program: Command, io: CommandIo = processIo): void {
  const runs = program.command('runs').description('Inspect runs: batches and workflows');
  clientCommand<ListOptions>(
    runs
      .command('list')
      .description('List runs, newest first')
      .addOption(
        new Option('--state <state>', 'Only open or failing ones, or those in this state').choices([
          'open',
          'failing',
          ...RUN_WIRE_STATES,
        ]),
      )
      .option('--name <name>', 'Only with this name')
      .option('--search <text>', 'Only with this part of the name, case-insensitive')
      .addOption(new Option('--type <type>', 'Only batches, or only workflows').choices(['batch', 'workflow']))
      .option('--kind <kind>', 'Only with tasks of this kind')
      .option('--job <job>', 'Only of this job, by id or name')
      .option('--metadata <json>', 'Only with a task whose metadata contains this', parseObject)
      .option('--since <time>', 'Only created at or after this time: 2026-01-31, or 2026-01-31T08:00:00Z')
      .option('--until <time>', 'Only created before this time')
      .option('--after <id>', 'Continue after the page that ended with this run', parseId)
      .option('--page-size <number>', 'Runs per page', wholeNumber(1, 10_000)),
    io,
    listRuns,
  );
  clientCommand<{ limit?: number }>(
    program
      .command('search')
      .description('Find runs, tasks, jobs, kinds, hosts, findings and more by name or id')
      .argument('<text>', 'Part of a name, or the beginning of an id')
      .option('--limit <number>', 'Results of each type (default 5)', wholeNumber(1, 50)),
    io,
    async ({ client, output }, options, text) => {
      const found = await client.runs.search(text, given({ limit: options.limit }));
      output.result(found, () => writeResults(output, found.results));
      return undefined;
    },
  );
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new InvalidArgumentError('It must be a JSON object, such as {"tenant":7}.');
}

async function listRuns({ client, output }: ClientContext, options: ListOptions): Promise<undefined> {
  const { search, pageSize, ...filter } = options;
  const { state, name, type, kind, job, metadata, since, until, after } = filter;
  const list = await client.runs.list(
    given({ state, name, q: search, type, kind, job, metadata, since, until, after, page_size: pageSize }),
  );
  output.result(list, () => writeRuns(output, list));
  return undefined;
}

function writeRuns(output: Output, { runs, next, examined }: RunList): void {
  if (runs.length === 0) output.line(`no matching runs among ${examined} examined`);
  else {
    const now = output.clock.now();
    writeTable(
      output,
      [
        { header: 'ID', value: ({ id }) => id },
        { header: 'TYPE', value: ({ type }) => type },
        { header: 'STATE', value: ({ state }) => state, style: ({ state }) => RUN_LOOKS[state].style },
        { header: 'TITLE', value: ({ title }) => title, flexible: true },
        {
          header: 'ENDED',
          value: ({ counts }) => `${counts.total - counts.remaining}/${counts.total}`,
          align: 'right',
        },
        { header: 'FAILED', value: ({ counts }) => String(counts.failed), align: 'right' },
        { header: 'CREATED', value: ({ created_at }) => `${duration(now - Date.parse(created_at))} ago` },
        { header: 'TOOK', value: tookOf },
      ],
      runs,
    );
  }
  if (next !== null) output.line(`more with --after ${next}`);
}

function writeResults(output: Output, results: readonly SearchResult[]): void {
  if (results.length === 0) {
    output.line('nothing found');
    return;
  }
  writeTable(
    output,
    [
      { header: 'TYPE', value: ({ type }) => type },
      { header: 'ID', value: ({ id }) => id },
      { header: 'STATE', value: ({ state }) => state ?? '-' },
      { header: 'TITLE', value: ({ title }) => title, flexible: true },
      { header: 'DETAIL', value: ({ detail }) => detail ?? '-', flexible: true },
    ],
    results,
  );
}
