import { HeddleError } from '@heddle/base/errors';
import { CONFIDENCES, type Confidence } from '@heddle/base/vocabulary/confidence';
import { Liquid, LiquidError, type Template } from 'liquidjs';

import type { Problem } from '../result.ts';
import type { ReportSummary, ReportedFinding, ScanReport, TextSink } from './report.ts';
import { type SecretGroup, SecretGroups } from './secret-groups.ts';
import { dataOf, SAMPLES, type SecretData, secretData, type TemplateData } from './template-data.ts';
import { visible } from './visible.ts';

/** Bounds of what a template gets, and of what it may use. */
const SECRETS_MAX = 1000;
const PROBLEMS_MAX = 1000;
const TEMPLATE_CHARACTERS_MAX = 100_000;
const RENDER_MS_MAX = 60_000;
const MEMORY_UNITS_MAX = 100_000_000;

/** Templates of these names write text in which markup is escaped. */
const ESCAPED = /\.(?:html?|xhtml|xml|svg)(?:\.liquid)?$/i;

/** A report template in Liquid. It sees the data of one scan, and neither files nor code. */
export class ReportTemplate {
  readonly #engine: Liquid;
  readonly #template: Template[];
  readonly #name: string;

  /**
   * Parses a template, and tries it with made-up data, so that a fault is known before the scan.
   * @param name of its file; the extension decides about escaping
   * @throws HeddleError with line and column
   */
  constructor(name: string, text: string) {
    if (text.length > TEMPLATE_CHARACTERS_MAX) {
      const fault = `has ${text.length} characters; at most ${TEMPLATE_CHARACTERS_MAX} are allowed`;
      throw new HeddleError('VALIDATION_FAILED', `--template ${name}: ${fault}`);
    }
    this.#name = name;
    this.#engine = new Liquid({
      // No other files.
      templates: {},
      ownPropertyOnly: true,
      strictFilters: true,
      strictVariables: true,
      ...(ESCAPED.test(name) ? { outputEscape: 'escape' } : {}),
      renderLimit: RENDER_MS_MAX,
      memoryLimit: MEMORY_UNITS_MAX,
    });
    this.#engine.registerFilter('code', codeSpan);
    this.#template = this.#checked(() => this.#engine.parse(text));
    for (const sample of SAMPLES) this.render(sample);
  }

  /** @throws HeddleError with line and column */
  render(data: TemplateData): string {
    return this.#checked(() => String(this.#engine.renderSync(this.#template, data)));
  }

  #checked<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof LiquidError)) throw error;
      const { input, begin } = error.token;
      const lines = input.slice(0, begin).split('\n');
      const place = `line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
      const fault = error.message.replace(/, (?:file:.*, )?line:.*$/s, '');
      throw new HeddleError('VALIDATION_FAILED', `--template ${this.#name}, ${place}: ${fault}`, { cause: error });
    }
  }
}

/** Writes a code span of Markdown that also fits into a cell of a table, whatever the text contains. */
function codeSpan(value: unknown): string {
  const written = typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value ?? '');
  const text = visible(written).replaceAll('|', '\\|');
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const space = longest > 0 || text.trim() === '' ? ' ' : '';
  return `${fence}${space}${text}${space}${fence}`;
}

/** Renders a template once, at the end: the surest secrets, each with its places, and what was not scanned. */
export class TemplateReport implements ScanReport {
  readonly #sink: TextSink;
  readonly #template: ReportTemplate;
  readonly #groups = new SecretGroups();
  readonly #problems: Problem[] = [];

  constructor(sink: TextSink, template: ReportTemplate) {
    this.#sink = sink;
    this.#template = template;
  }

  finding(finding: ReportedFinding): void {
    this.#groups.add(finding);
  }

  problem(problem: Problem): void {
    if (this.#problems.length < PROBLEMS_MAX) this.#problems.push(problem);
  }

  /** @throws HeddleError if the template exceeds a limit */
  end(summary: ReportSummary): void {
    const { secrets, leftOut } = this.#surest();
    this.#sink.write(this.#template.render(dataOf(summary, { secrets, leftOut, problems: this.#problems })));
  }

  #surest(): { secrets: SecretData[]; leftOut: number } {
    const byConfidence = new Map<Confidence, SecretData[]>();
    let total = 0;
    this.#groups.drain((group: SecretGroup) => {
      total += 1;
      const { confidence } = group.lead;
      const list = byConfidence.get(confidence) ?? [];
      byConfidence.set(confidence, list);
      if (list.length < SECRETS_MAX) list.push(secretData(group));
    });
    const secrets = CONFIDENCES.toReversed()
      .flatMap((confidence) => byConfidence.get(confidence) ?? [])
      .slice(0, SECRETS_MAX);
    return { secrets, leftOut: total - secrets.length };
  }
}
