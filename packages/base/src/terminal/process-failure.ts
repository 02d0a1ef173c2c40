import type { CommanderError } from 'commander';

import { CommandFailure, EXIT, userMessageOf, type ExitCode } from './failure.ts';

/** A failure as commands report it with `--json`. */
export interface FailureReport {
  /** A code of the API's catalogue, or one of the command line: UNREACHABLE, NOT_HEDDLE, USAGE, FAILED. */
  code: string;
  error: string;
  details: readonly string[];
  /** What to do; null if nothing is sure to help. */
  hint: string | null;
  exit_code: number;
}

/** Prints why the command line is invalid on standard error, unless a help text was shown instead. */
export function printUsageFailure(argv: readonly string[], error: CommanderError): ExitCode {
  if (error.exitCode === 0) return EXIT.ok;
  if (error.code === 'commander.help') return EXIT.usage;
  const sentence = error.message.replace(/^error: /, '');
  report(argv, { code: 'USAGE', error: sentence, exit_code: EXIT.usage });
  return EXIT.usage;
}

/** Prints the failure of a command on standard error: a sentence, or a stack for a defect. */
export function printFailure(argv: readonly string[], error: unknown): ExitCode {
  const stack = error instanceof Error ? error.stack : undefined;
  const sentence = userMessageOf(error) ?? stack ?? String(error);
  const { exitCode = EXIT.failed, faults = [] } = error as { exitCode?: ExitCode; faults?: readonly string[] };
  const code = error instanceof CommandFailure ? error.code : 'FAILED';
  report(argv, { code, error: sentence, details: faults, exit_code: exitCode });
  return exitCode;
}

function report(
  argv: readonly string[],
  report: Pick<FailureReport, 'code' | 'error' | 'exit_code'> & { details?: readonly string[] },
): void {
  const { code, error, details = [], exit_code } = report;
  const document: FailureReport = { code, error, details, hint: null, exit_code };
  process.stderr.write(`${isJsonAsked(argv) ? JSON.stringify(document) : `error[${code}]: ${error}`}\n`);
}

/** Whether `--json` was given; checked directly, because an invalid command line is not parsed. */
function isJsonAsked(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end === -1 ? argv : argv.slice(0, end)).includes('--json');
}
