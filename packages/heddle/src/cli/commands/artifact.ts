import type { Command } from 'commander';

import { writeTable } from '@heddle/base/terminal/table';
import { count, printable } from '@heddle/base/terminal/text';
import {
  clientCommand,
  parseId,
  processIo,
  wholeNumber,
  type ClientContext,
  type CommandIo,
} from '../output/client-command.ts';
import { downloadInto, writeTo } from '../output/download-artifact.ts';
import { CLIENT_EXIT } from '../output/exit-codes.ts';
import type { Artifact } from '../output/wire.ts';

interface GetOptions {
  out?: string;
  output?: string;
}

/** Adds `heddle artifact …`. */
export function registerArtifactCommands(program: Command, io: CommandIo = processIo): void {
  const artifact = program.command('artifact').description('List, download and pin the files that tasks stored');
  clientCommand(
    artifact
      .command('list')
      .description('List the artifacts of a task, those of its newest attempt first')
      .argument('<task>', 'ID of the task', parseId),
    io,
    async ({ client, output }, _options, task) => {
      const artifacts = await client.artifacts.list(task);
      output.result(artifacts, () => writeArtifacts({ client, output }, artifacts));
      return undefined;
    },
  );
  clientCommand<GetOptions>(
    artifact
      .command('get')
      .description('Download an artifact, or those of the newest attempt of a task that has any')
      .argument('<id>', 'ID of the artifact or of the task', parseId)
      .option('--out <directory>', 'Directory for the files, each below it by its name (default the current one)')
      .option('--output <file>', 'File for a single artifact'),
    io,
    getArtifacts,
  );
  for (const [name, pinned, description] of [
    ['pin', true, 'Keep an artifact when its task is deleted'],
    ['unpin', false, 'Delete an artifact with its task'],
  ] as const) {
    clientCommand(
      artifact.command(name).description(description).argument('<id>', 'ID of the artifact', parseId),
      io,
      async ({ client, output }, _options, id) => {
        const changed = await client.artifacts.pin(id, pinned);
        output.result(changed, () => output.line(`${printable(changed.name)} is ${pinned ? '' : 'un'}pinned`));
        return undefined;
      },
    );
  }
  clientCommand<{ expires?: number }>(
    artifact
      .command('url')
      .description('Make a URL from which anyone can download an artifact, for a time')
      .argument('<id>', 'ID of the artifact', parseId)
      .option('--expires <seconds>', 'Lifetime (default 3600)', wholeNumber(1, 604_800)),
    io,
    async ({ client, output }, { expires }, id) => {
      const made = await client.artifacts.url(id, expires);
      output.result(made, () => output.line(made.url));
      return undefined;
    },
  );
}

function writeArtifacts({ output }: Pick<ClientContext, 'client' | 'output'>, artifacts: readonly Artifact[]): void {
  if (artifacts.length === 0) {
    output.line('it has no artifacts');
    return;
  }
  writeTable(
    output,
    [
      { header: 'ID', value: ({ id }) => id },
      { header: 'ATTEMPT', value: ({ attempt }) => String(attempt) },
      { header: 'NAME', value: ({ name }) => printable(name), flexible: true },
      { header: 'BYTES', value: ({ size }) => String(size) },
      { header: 'PINNED', value: ({ pinned }) => (pinned ? 'yes' : '-') },
      { header: 'SHA-256', value: ({ sha256 }) => sha256.slice(0, 12) },
    ],
    artifacts,
  );
}

async function getArtifacts(
  { client, output }: ClientContext,
  { out = '.', output: file }: GetOptions,
  id: string,
): Promise<number | undefined> {
  const artifacts = await artifactsOf(client, id);
  if (artifacts.length === 0) {
    output.notice(`task ${id} has no artifacts`);
    return CLIENT_EXIT.notFound;
  }
  if (file !== undefined && artifacts.length > 1) {
    output.notice(
      `--output is for one file, and the task has ${artifacts.length}; use --out, or the id of one of them`,
    );
    return CLIENT_EXIT.usage;
  }
  const paths: string[] = [];
  for (const artifact of artifacts) {
    if (file === undefined) paths.push(await downloadInto(out, artifact, client));
    else await writeTo(file, artifact, client).then(() => paths.push(file));
  }
  output.result(
    artifacts.map(({ name, size }, index) => ({ name, size, path: paths[index]! })),
    () => {
      for (const path of paths) output.line(printable(path));
      output.notice(`${count(paths.length, 'artifact')} downloaded`);
    },
  );
  return undefined;
}

/** Of a task, or the artifact itself. */
async function artifactsOf(client: ClientContext['client'], id: string): Promise<Artifact[]> {
  const single = await client.artifacts.get(id).catch(notFound);
  return single === null ? newestOf(await client.artifacts.list(id)) : [single];
}

/** Returns those of the newest attempt. */
export function newestOf(artifacts: readonly Artifact[]): Artifact[] {
  return artifacts.filter(({ attempt }) => attempt === artifacts[0]!.attempt);
}

function notFound(error: unknown): null {
  if (error instanceof Error && 'status' in error && error.status === 404) return null;
  throw error;
}
