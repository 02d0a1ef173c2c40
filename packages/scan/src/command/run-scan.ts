import { errorOf } from '@heddle/base/thrown';
import { summaryLines } from '../report/text-report.ts';
import type { Paint, ReportSummary } from '../report/report.ts';
import { BaselineCollector } from '../baseline/write-baseline.ts';
import type { RuleText } from '../options.ts';
import type { Finding, Problem, ScanProgress, ScanSummary } from '../result.ts';
import { startScan } from '../scan.ts';
import { LOCK_SUFFIX } from '../coordinator/state-lock.ts';
import { HeddleError } from '@heddle/base/errors';
import { silentLogger } from '@heddle/base/logger';
import { systemClock } from '@heddle/base/clock';
import { CommandFailure } from '@heddle/base/terminal/failure';
import { refused, unwritable } from '@heddle/base/terminal/refusal';
import { withoutOwnFiles } from './own-files.ts';
import { baselineOf, ignoreListOf, readNamed } from './known.ts';
import { optionsOf, type ScanRequest } from './options.ts';
import { ScanOutcomes } from './outcome.ts';
import { openOutput, type OpenTemplate, Reports, type ReportTerminal } from './reports.ts';
import { isBuiltinOnly } from './rule-files.ts';
import { sourcesOf, STDIN } from './sources.ts';
import { refuseNoDiff } from './diff-input.ts';
import { isPipe, SpooledInput } from './spooled-input.ts';
import { untilInterrupted } from '@heddle/base/terminal/signals';

/** Exit codes of `heddle scan`: errors take precedence over findings, findings over skipped input. */
const SCAN_EXIT = {
  clean: 0,
  findings: 1,
  error: 2,
  /** No findings, but some input could not be scanned. */
  incomplete: 3,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;

type ScanExit = (typeof SCAN_EXIT)[keyof typeof SCAN_EXIT];

/** The terminal that a scan was started on. */
export interface ScanTerminal extends ReportTerminal {
  /** Prints a line beside the report, on standard error. */
  notice: (text: string) => void;
  paintError: Paint;
  /** Reports progress from time to time. */
  progress: (progress: ScanProgress) => void;
  /** Removes the progress display before the last lines. */
  stopProgress: () => void;
  /** Calls back when standard output can no longer be written: its reader is gone, or its disk is full. */
  onClosed: (run: (error: NodeJS.ErrnoException) => void) => void;
  /** Resolves once everything printed is written, or cannot be. */
  flushed: () => Promise<void>;
}

/** How a scan was made to end early. */
type Ending = 'interrupted' | 'closed' | 'failed';

/** `heddle scan`: from the command line to the exit code. Every failure is an error of the scan, never a finding. */
export async function runScan(request: ScanRequest, terminal: ScanTerminal): Promise<ScanExit> {
  try {
    return await untilInterrupted<ScanExit>((interrupted) => scan(request, terminal, interrupted));
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    if (error instanceof HeddleError) throw refused(error.message, error);
    // A defect prints its stack; its exit code must not report secrets.
    throw Object.assign(errorOf(error), { exitCode: SCAN_EXIT.error });
  } finally {
    terminal.stopProgress();
  }
}

async function scan(request: ScanRequest, terminal: ScanTerminal, interrupted: AbortSignal): Promise<ScanExit> {
  const spool = spoolOf(request.diff);
  try {
    await spool?.fill(interrupted);
    if (request.diff !== null) refuseNoDiff(spool?.path ?? request.diff, request.diff);
    return await scanSources(spool === null ? request : { ...request, diff: spool.path }, terminal, interrupted);
  } finally {
    spool?.remove();
  }
}

function spoolOf(diff: string | null): SpooledInput | null {
  if (diff === STDIN) return new SpooledInput(null);
  return diff !== null && isPipe(diff) ? new SpooledInput(diff) : null;
}

async function scanSources(request: ScanRequest, terminal: ScanTerminal, interrupted: AbortSignal): Promise<ScanExit> {
  const notice = request.quiet ? (): void => undefined : terminal.notice;
  const { specs: sources, directories } = sourcesOf(request);
  const options = optionsOf(request, { sources, rules: await rulesOfRequest(request, directories, notice) });
  const template = request.template === null ? null : await openTemplate(request.template);
  const baseline = baselineOf(request, directories);
  const ignored = ignoreListOf(request, directories, notice);
  const baselineFile = request.writeBaseline === null ? null : openOutput('--write-baseline', request.writeBaseline);
  const collector = baselineFile === null ? null : new BaselineCollector();
  let reports: Reports | null = null;
  try {
    reports = new Reports(request, terminal, template);
    const { showSecrets, onlyActive } = request;
    const outcomes = new ScanOutcomes({ reports, ignored, baseline, collector, showSecrets, onlyActive });
    const state = request.state === null ? [] : [request.state, `${request.state}${LOCK_SUFFIX}`];
    const own = [...reports.targets, ...(baselineFile?.target ? [baselineFile.target] : []), ...state];
    const run = new Run(outcomes, terminal, interrupted, reports.hasFiles);
    const summary = outcomes.summary(await run.start(withoutOwnFiles(options, own, directories), request.state));
    const { ending } = run;
    terminal.stopProgress();
    reports.end(summary);
    await terminal.flushed();
    run.throwIfFailed();
    if (baselineFile !== null && collector !== null && ending === null && summary.outcome !== 'aborted') {
      collector.writeTo(baselineFile);
      baselineFile.commit();
      notice(`${collector.size} fingerprints written to ${baselineFile.path}`);
    }
    if (!request.quiet && ending !== 'closed' && (request.format !== 'text' || request.output !== null)) {
      for (const line of summaryLines(summary, outcomes.problems, terminal.paintError)) terminal.notice(line);
    }
    return conclude(request, terminal, summary, ending);
  } finally {
    reports?.discard();
    baselineFile?.discard();
  }
}

/** The code that reads rules is loaded only if they must be read. */
async function rulesOfRequest(
  request: ScanRequest,
  directories: readonly string[],
  notice: (text: string) => void,
): Promise<RuleText[]> {
  const endpoints = request.scan.verify?.endpoints ?? [];
  if (endpoints.length === 0 && isBuiltinOnly(request.rules, directories)) return [];
  const { refuseUnknownEndpoints, rulesOf } = await import('./rules.ts');
  const rules = rulesOf(request.rules, directories, notice);
  refuseUnknownEndpoints(rules, endpoints);
  return rules;
}

/** The language of templates is loaded only if one is used. */
async function openTemplate(path: string): Promise<OpenTemplate> {
  const { ReportTemplate, TemplateReport } = await import('../report/template-report.ts');
  const template = new ReportTemplate(path, readNamed('--template', path));
  return (sink) => new TemplateReport(sink, template);
}

/** One running scan, with the reasons to end it early. */
class Run {
  readonly #outcomes: ScanOutcomes;
  readonly #terminal: ScanTerminal;
  readonly #abort = new AbortController();
  #ending: Ending | null = null;
  #failure: unknown = null;

  constructor(outcomes: ScanOutcomes, terminal: ScanTerminal, interrupted: AbortSignal, hasFiles: boolean) {
    this.#outcomes = outcomes;
    this.#terminal = terminal;
    if (interrupted.aborted) this.#end('interrupted');
    else interrupted.addEventListener('abort', () => this.#end('interrupted'), { once: true });
    terminal.onClosed((error) => {
      if (error.code !== 'EPIPE') {
        this.#failure = unwritable(error);
        this.#end('failed');
      } else if (!hasFiles) this.#end('closed');
      // Reports in files are completed whether or not standard output is read.
    });
  }

  get ending(): Ending | null {
    return this.#ending;
  }

  async start(options: Parameters<typeof startScan>[0], statePath: string | null): Promise<ScanSummary> {
    const observer = {
      accepts: (finding: Finding) => this.#outcomes.accepts(finding),
      onFinding: (finding: Finding) => this.#guarded(() => this.#outcomes.finding(finding)),
      onProblem: (problem: Problem) => this.#guarded(() => this.#outcomes.problem(problem)),
      onProgress: (progress: ScanProgress) => this.#terminal.progress(progress),
    };
    const environment = {
      clock: systemClock,
      log: silentLogger,
      signal: this.#abort.signal,
      usesOwnThread: true,
    };
    const summary = await startScan(options, observer, {
      ...environment,
      ...(statePath === null ? {} : { statePath }),
    });
    this.throwIfFailed();
    return summary;
  }

  /** Throws if a report could not be written. */
  throwIfFailed(): void {
    if (this.#ending === 'failed') throw this.#failure;
  }

  /** A report that cannot be written (a full disk) ends the scan. */
  #guarded(run: () => void): void {
    if (this.#ending === 'failed') return;
    try {
      run();
    } catch (error) {
      this.#failure = error;
      this.#end('failed');
    }
  }

  #end(ending: Ending): void {
    this.#ending ??= ending;
    this.#abort.abort();
  }
}

/**
 * Prints the closing lines and returns the exit code. Errors take precedence over findings, findings over skipped
 * input.
 */
function conclude(
  request: ScanRequest,
  terminal: ScanTerminal,
  { outcome, reported }: ReportSummary,
  ending: Ending | null,
): ScanExit {
  const found = reported > 0 ? SCAN_EXIT.findings : null;
  if (ending === 'closed') return found ?? SCAN_EXIT.incomplete;
  if (ending === 'interrupted' && outcome === 'aborted') {
    terminal.notice(
      request.state === null
        ? 'Interrupted: the scan is incomplete. With --state FILE, a scan resumes where it stopped.'
        : `Interrupted: the scan is incomplete. The same command resumes from ${request.state}.`,
    );
    return SCAN_EXIT.interrupted;
  }
  if (outcome === 'aborted') return SCAN_EXIT.error;
  if (found !== null) return found;
  return outcome === 'incomplete' && request.failOnIncomplete ? SCAN_EXIT.incomplete : SCAN_EXIT.clean;
}
