import type { Problem } from '../result.ts';
import type { ReportedFinding, ReportSummary, ScanReport, TextSink } from './report.ts';

/** One JSON object per line with a `type`: `finding`, `problem`, and a final `summary`. */
export class JsonLinesReport implements ScanReport {
  readonly #sink: TextSink;

  constructor(sink: TextSink) {
    this.#sink = sink;
  }

  finding(finding: ReportedFinding): void {
    this.#line({ type: 'finding', ...finding });
  }

  problem(problem: Problem): void {
    this.#line({ type: 'problem', ...problem });
  }

  end(summary: ReportSummary): void {
    this.#line({ type: 'summary', ...summary });
  }

  #line(value: object): void {
    this.#sink.write(`${JSON.stringify(value)}\n`);
  }
}
