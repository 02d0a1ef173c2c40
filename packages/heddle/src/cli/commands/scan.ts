import type { Command } from 'commander';

import { systemClock } from '../../app/clock.ts';
import { CommandFailure, EXIT } from '../../app/failure.ts';
import type { ScanTerminal } from '../../app/scan.ts';
import type { ReportFormat } from '../../app/scan/request.ts';
import { keepHeapSmall } from '../../app/scan/small-heap.ts';
import { Output } from '../output/output.ts';
import { scanDisplayFor } from '../output/scan-progress.ts';
import { registerScanRules } from './scan-rules.ts';
import { addScanOptions, requestOf, type ScanFlags } from './scan-options.ts';

const HELP = `
Examples:
  heddle scan .                                   this directory, archives included
  heddle scan --staged                            what the next commit would add
  heddle scan --git . --report sarif=secrets.sarif
  heddle scan s3://bucket/prefix --state scan.state
Write a path named "rules" as ./rules.

Exit codes: 0 clean, 1 secrets found, 2 error, 3 no secrets, but the scan is incomplete,
130 interrupted by Ctrl-C. Errors take precedence over findings, findings over an incomplete scan.`;

/** `heddle scan`: needs neither a server nor a database. */
export function registerScanCommand(program: Command): void {
  const command = program
    .command('scan')
    .description('Find secrets in files, archives, git histories and buckets; needs no server and no database')
    .argument('[path...]', 'Files, directories, s3://bucket/prefix, - for standard input (default .)')
    .helpCommand(false);
  addScanOptions(command)
    .addHelpText('after', HELP)
    .action((paths: string[], flags: ScanFlags) => scan(paths, flags));
  registerScanRules(command);
}

async function scan(paths: readonly string[], flags: ScanFlags): Promise<void> {
  const request = requestOf(paths, flags, formatOf(flags));
  const { stdout, stderr } = process;
  const output = new Output({ stdout, stderr, clock: systemClock, json: request.format !== 'text' });
  const enabled = flags.progress && !request.quiet;
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
  };
  keepHeapSmall();
  const { runScan } = await import('../../app/scan.ts');
  process.exitCode = await runScan(request, terminal);
}

function formatOf({ format, json }: ScanFlags): ReportFormat {
  if (json !== true) return format ?? 'text';
  if (format === undefined || format === 'jsonl') return 'jsonl';
  throw new CommandFailure(`--json and --format ${format} contradict each other; use one of them`, {
    exitCode: EXIT.usage,
  });
}
