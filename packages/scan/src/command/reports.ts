import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

import type { Problem } from '../result.ts';
import { JsonLinesReport } from '../report/json-lines-report.ts';
import { CsvReport } from '../report/csv-report.ts';
import { HtmlReport } from '../report/html-report.ts';
import { JunitReport } from '../report/junit-report.ts';
import { OutputFile } from '../report/output-file.ts';
import type { Paint, ReportedFinding, ReportFormat, ReportSummary, ScanReport, TextSink } from '../report/report.ts';
import { SarifReport } from '../report/sarif-report.ts';
import { TextReport } from '../report/text-report.ts';
import { VERSION } from './package.ts';
import { refused, systemFault } from '@heddle/base/terminal/refusal';
import type { ScanRequest } from './options.ts';

/** The destination of the report on standard output. */
export interface ReportTerminal {
  print: TextSink;
  paint: Paint;
}

interface OpenReport {
  report: ScanReport;
  /** Null on standard output. */
  file: OutputFile | null;
}

/** Creates the report of the template that the command line names. */
export type OpenTemplate = (sink: TextSink) => ScanReport;

/** All reports of one run. Complete files appear when the run ends; `discard` leaves the previous ones in place. */
export class Reports implements ScanReport {
  readonly #open: OpenReport[] = [];
  readonly #paths: string[] = [];
  readonly #template: OpenTemplate | null;

  /** @throws CommandFailure if a file cannot be written */
  constructor(request: ScanRequest, terminal: ReportTerminal, template: OpenTemplate | null) {
    this.#template = template;
    try {
      if (request.output === null) {
        this.#open.push({
          report: this.#reportOf(request.format, terminal.print, request, terminal.paint),
          file: null,
        });
      } else this.#addFile('--output', request.format, request.output, request);
      for (const { format, path } of request.reports) this.#addFile('--report', format, path, request);
    } catch (error) {
      this.discard();
      throw error;
    }
  }

  /** Whether reports are written to files too. */
  get hasFiles(): boolean {
    return this.#paths.length > 0;
  }

  /** The files being written, which are excluded from the scan. */
  get targets(): string[] {
    return this.#open.flatMap(({ file }) => file?.target ?? []);
  }

  finding(finding: ReportedFinding): void {
    for (const { report } of this.#open) report.finding(finding);
  }

  problem(problem: Problem): void {
    for (const { report } of this.#open) report.problem(problem);
  }

  end(summary: ReportSummary): void {
    for (const { report, file } of this.#open) {
      report.end(summary);
      try {
        file?.commit();
      } catch (error) {
        throw refused(`${file?.path ?? ''} cannot be written: ${systemFault(error)}`, error);
      }
    }
  }

  discard(): void {
    for (const { file } of this.#open) file?.discard();
  }

  #reportOf(format: ReportFormat, sink: TextSink, request: ScanRequest, paint: Paint): ScanReport {
    if (format !== 'template') return plainReportOf(format, sink, request, paint);
    if (this.#template === null) throw new Error('reports: the template is not open');
    return this.#template(sink);
  }

  #addFile(flag: string, format: ReportFormat, path: string, request: ScanRequest): void {
    if (this.#paths.includes(resolve(path)))
      throw refused(`${flag} ${path}: two reports have this name; give each a different one`);
    this.#paths.push(resolve(path));
    const file = openOutput(flag, path, request.showSecrets);
    this.#open.push({ report: this.#reportOf(format, file, request, (_style, text) => text), file });
  }
}

/** @throws CommandFailure that names the flag */
export function openOutput(flag: string, path: string, holdsSecrets = false): OutputFile {
  try {
    return new OutputFile(path, holdsSecrets ? 0o600 : 0o666);
  } catch (error) {
    throw refused(`${flag} ${path}: ${outputFault(path, error)}`, error);
  }
}

function outputFault(path: string, error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EISDIR') return 'is a directory; name a file in it';
  if (code === 'ENOENT' && !existsSync(dirname(path))) return `no such directory: ${dirname(path)}; create it first`;
  return `cannot be written: ${systemFault(error)}`;
}

function plainReportOf(
  format: Exclude<ReportFormat, 'template'>,
  sink: TextSink,
  { quiet, showContext }: ScanRequest,
  paint: Paint,
): ScanReport {
  switch (format) {
    case 'text':
      return new TextReport(sink, { paint, withSummary: !quiet, withContext: showContext });
    case 'jsonl':
      return new JsonLinesReport(sink);
    case 'sarif':
      return new SarifReport({ sink, version: VERSION, workingDirectory: process.cwd() });
    case 'junit':
      return new JunitReport(sink);
    case 'html':
      return new HtmlReport(sink);
    case 'csv':
      return new CsvReport(sink);
  }
}
