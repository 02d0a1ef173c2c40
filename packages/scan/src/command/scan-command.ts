import type { Command } from 'commander';

import { systemClock } from '@heddle/base/clock';
import type { ScanTerminal } from './run-scan.ts';
import { keepHeapSmall } from './small-heap.ts';
import { Output } from '@heddle/base/terminal/output';
import { commandPath } from '@heddle/base/terminal/program';
import { scanDisplayFor } from './progress.ts';
import { registerScanExplain } from './explain/explain-command.ts';
import { registerScanInit } from './init/init-command.ts';
import { registerScanRules } from './rules-command.ts';
import { addScanOptions, requestOf } from './options.ts';

export const SCAN_DESCRIPTION =
  'Find secrets in files, archives, git histories, container images and buckets; needs no server and no database';

export const EXIT_CODES = `Exit codes: 0 clean, 1 secrets found, 2 error, 3 no secrets, but the scan is incomplete,
130 interrupted by Ctrl-C. Errors take precedence over findings, findings over an incomplete scan.`;

const examples = (command: string): string => `
Examples:
  ${command} .                                   this directory, archives included
  ${command} --staged                            what the next commit would add
  ${command} --git . --report sarif=secrets.sarif
  ${command} --image registry.example/app:1.2
  ${command} --github acme --state scan.state    all repositories of an organization
  ${command} s3://bucket/prefix --state scan.state
Write a path named like a command (rules, explain, init) as ./rules.
`;

/** `heddle scan`: needs neither a server nor a database. */
export function registerScanCommand(program: Command): void {
  addScan(program.command('scan').description(SCAN_DESCRIPTION)).addHelpText('after', `\n${EXIT_CODES}`);
}

/** Turns a command into the scan, with `rules` below it. */
export function addScan(command: Command): Command {
  command
    .argument('[path...]', 'Files, directories, s3://, gs:// or az://bucket/prefix, - for standard input (default .)')
    .helpCommand(false);
  addScanOptions(command)
    .addHelpText('after', () => examples(commandPath(command)).trimEnd())
    .action((paths: string[], options: object) => scan(paths, options));
  registerScanRules(command);
  registerScanExplain(command);
  registerScanInit(command);
  return command;
}

async function scan(paths: readonly string[], options: object): Promise<void> {
  const request = requestOf(paths, options);
  const { stdout, stderr } = process;
  const output = new Output({ stdout, stderr, clock: systemClock, json: request.format !== 'text' });
  const enabled = request.progress && !request.quiet;
  const display = scanDisplayFor({ stdout, stderr, clock: systemClock, enabled });
  if (paths.includes('-') && process.stdin.isTTY && !request.quiet)
    display.notice('Reading standard input; press Ctrl-D to end it.');
  const terminal: ScanTerminal = {
    print: { write: (text) => display.print(text) },
    notice: (text) => display.notice(text),
    paint: (style, text) => output.paint(style, text),
    paintError: (style, text) => output.paintError(style, text),
    progress: (progress) => display.update(progress),
    stopProgress: () => display.stop(),
    onClosed: (run) => void stdout.once('error', run),
    flushed: () => new Promise((resolve) => void stdout.write('', () => resolve())),
  };
  keepHeapSmall();
  const { runScan } = await import('./run-scan.ts');
  process.exitCode = await runScan(request, terminal);
}
