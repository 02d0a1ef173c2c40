import type { ReportedFinding, ScanReport, TextSink } from './report.ts';

const COLUMNS = [
  'rule',
  'confidence',
  'path',
  'line',
  'column',
  'secret',
  'key',
  'description',
  'fingerprint',
  'commit',
  'author',
  'date',
  'verdict',
  'verdict reason',
  'identity',
  'permissions',
  'secret_id',
] as const;

/** One row for each finding (RFC 4180), for spreadsheets. What was not scanned is in no row. */
export class CsvReport implements ScanReport {
  readonly #sink: TextSink;
  #hasHeader = false;

  constructor(sink: TextSink) {
    this.#sink = sink;
  }

  finding(finding: ReportedFinding): void {
    const { rule_id, confidence, path, line, column, secret, key_path, description, fingerprint, commit } = finding;
    const { verification } = finding;
    this.#header();
    this.#row([
      rule_id,
      confidence,
      path,
      line,
      column,
      secret,
      key_path ?? '',
      description,
      fingerprint,
      commit?.id ?? '',
      commit === undefined ? '' : `${commit.author} <${commit.email}>`,
      commit?.date ?? '',
      verification?.verdict ?? '',
      verification?.reason ?? '',
      verification?.identity ?? '',
      verification?.permissions.join(' ') ?? '',
      finding.secret_id ?? '',
    ]);
  }

  problem(): void {
    // Problems have other columns; the summary on standard error lists them.
  }

  end(): void {
    this.#header();
  }

  #header(): void {
    if (!this.#hasHeader) this.#row(COLUMNS);
    this.#hasHeader = true;
  }

  #row(cells: readonly (string | number)[]): void {
    this.#sink.write(`${cells.map(cellOf).join(',')}\r\n`);
  }
}

/** A spreadsheet would run a cell that begins with one of these signs as a formula; an apostrophe keeps it text. */
function cellOf(value: string | number): string {
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
