import type { Verification } from '@heddle/base/vocabulary/verdict';
import type { Commit, ContextLine, Problem } from '../result.ts';
import { byteCount, counted, elapsed, rate } from './figures.ts';
import { problemLines, ProblemTally } from './problem-tally.ts';
import type { Paint, ReportedFinding, ReportSummary, ScanReport, TextSink } from './report.ts';
import { secretsInPlaces } from './secret-count.ts';
import { type SecretGroup, SecretGroups, type SecretPlace } from './secret-groups.ts';
import { verdictCountsText, verificationText } from './verification-words.ts';
import { shortened, visible } from './visible.ts';

const MATCH_CHARACTERS = 160;
const RATE_BYTES_MIN = 1_000_000;

const NEXT =
  'revoke and reissue real secrets. To accept a finding, write heddle:allow in a comment on its line, or add its ' +
  'fingerprint to .heddleignore; --write-baseline FILE accepts all of them.';

/** A human-readable report: a block for each secret, by the file of its first place, and a summary with next steps. */
export class TextReport implements ScanReport {
  readonly #sink: TextSink;
  readonly #paint: Paint;
  readonly #withSummary: boolean;
  readonly #withContext: boolean;
  readonly #problems = new ProblemTally();
  readonly #groups = new SecretGroups();
  #path: string | null = null;

  /**
   * @param options.withSummary false to write findings only
   * @param options.withContext whether to write the lines around secrets
   */
  constructor(sink: TextSink, options: { paint: Paint; withSummary: boolean; withContext: boolean }) {
    const { paint, withSummary, withContext } = options;
    this.#sink = sink;
    this.#paint = paint;
    this.#withSummary = withSummary;
    this.#withContext = withContext;
  }

  finding({ context, ...finding }: ReportedFinding): void {
    this.#groups.add(this.#withContext && context !== undefined ? { ...finding, context } : finding);
  }

  problem(problem: Problem): void {
    this.#problems.add(problem);
  }

  end(summary: ReportSummary): void {
    this.#groups.drain((group) => this.#write(group));
    if (!this.#withSummary) return;
    const lines = [...(this.#path === null ? [] : ['']), ...summaryLines(summary, this.#problems, this.#paint)];
    if (summary.reported > 0) lines.push(`${this.#paint('bold', 'next:')} ${NEXT}`);
    this.#sink.write(`${lines.join('\n')}\n`);
  }

  #write(group: SecretGroup): void {
    const { path } = group.lead;
    const lines: string[] = [];
    if (path !== this.#path) {
      if (this.#path !== null) lines.push('');
      this.#path = path;
      lines.push(this.#paint('bold', visible(path)));
    }
    lines.push(...this.#block(group));
    this.#sink.write(`${lines.join('\n')}\n`);
  }

  #block({ lead: finding, count, others }: SecretGroup): string[] {
    const { rule_id, description, path, line, column, match, secret, entropy, fingerprint, encodings, commit } =
      finding;
    const { confidence, confidence_reason, key_path, key_name, context = [], verification } = finding;
    const fields: [string, string][] = [['at', this.#paint('cyan', `${visible(path)}:${line}:${column}`)]];
    if (secret !== '') {
      const shown = visible(shortened(secret, MATCH_CHARACTERS));
      fields.push(['secret', `${shown} ${this.#paint('gray', `(entropy ${entropy.toFixed(1)})`)}`]);
    }
    if (match !== secret) fields.push(['match', visible(shortened(match, MATCH_CHARACTERS))]);
    const key = [key_path, key_name === undefined ? undefined : `(${key_name})`].filter((part) => part !== undefined);
    if (key.length > 0) fields.push(['key', visible(key.join(' '))]);
    fields.push(['confidence', `${confidence}: ${visible(confidence_reason)}`]);
    if (verification !== undefined) fields.push(['verified', this.#verified(verification)]);
    if (encodings.length > 0) fields.push(['encoded', encodings.join(', then ')]);
    if (commit !== undefined) fields.push(['commit', commitLine(commit)]);
    if (commit?.url !== undefined) fields.push(['page', visible(commit.url)]);
    fields.push(['fingerprint', fingerprint], ...this.#furtherPlaces(others, count));
    const places = count === 1 ? '' : ` ${this.#paint('bold', `(${counted(count, 'place')})`)}`;
    return [
      `  ${this.#paint('red', visible(rule_id))}  ${visible(description)}${places}`,
      ...fields.map(([name, value]) => `    ${this.#paint('gray', name.padEnd(11))} ${value}`),
      ...(this.#withContext ? this.#contextLines(context) : []),
    ];
  }

  #furtherPlaces(others: readonly SecretPlace[], count: number): [string, string][] {
    const lines = others.map(({ path, line, column, fingerprint, commit }) => {
      const place = this.#paint('cyan', `${visible(path)}:${line}:${column}`);
      const origin = commit === null ? '' : ` in ${commit.slice(0, 12)}`;
      return `${place}${origin} ${this.#paint('gray', fingerprint)}`;
    });
    const rest = count - 1 - others.length;
    if (rest > 0) lines.push(`and ${counted(rest, 'more place', 'more places')}`);
    return lines.map((line) => ['also at', line]);
  }

  #verified(verification: Verification): string {
    const text = visible(verificationText(verification));
    return verification.verdict === 'active' ? this.#paint('red', text) : text;
  }

  /** Writes `12 │ text`, with `>` before the lines of the match. */
  #contextLines(context: readonly ContextLine[]): string[] {
    const width = String(context.at(-1)?.number ?? 0).length;
    return context.map(({ number, text, mark }) => {
      const margin = `${mark === undefined ? ' ' : '>'} ${String(number).padStart(width)} │ `;
      if (mark === undefined) return `    ${this.#paint('gray', margin)}${indented(text)}`;
      const parts = [text.slice(0, mark.start), text.slice(mark.start, mark.end), text.slice(mark.end)].map(indented);
      return `    ${this.#paint('gray', margin)}${parts[0]}${this.#paint('yellow', parts[1]!)}${parts[2]}`;
    });
  }
}

function indented(code: string): string {
  return visible(code.replaceAll('\t', '    '));
}

function commitLine({ id, date, author, email, subject }: Commit): string {
  return visible(`${id.slice(0, 12)} ${date} ${author} <${email}>: ${shortened(subject, 72)}`);
}

function verdictLine(summary: ReportSummary, paint: Paint): string {
  const { reported, secrets: distinct, baseline, metrics, duration_ms, outcome } = summary;
  const { objects_completed, bytes_scanned } = metrics;
  if (reported === 0 && objects_completed === 0) return paint('yellow', '! nothing was scanned');
  const secrets = baseline === undefined ? 'secret' : 'new secret';
  const whole = outcome === 'complete';
  const verdict =
    reported > 0
      ? paint('red', `✖ ${secretsInPlaces(summary, secrets)}`)
      : paint(whole ? 'green' : 'yellow', `${whole ? '✔' : '!'} no ${secrets}s`);
  // For little data, the rate only measures the startup.
  const speed = bytes_scanned < RATE_BYTES_MIN ? '' : ` (${rate(bytes_scanned, duration_ms)})`;
  const scanned = `${counted(objects_completed, 'object')}, ${byteCount(bytes_scanned)} in ${elapsed(duration_ms)}${speed}`;
  return `${verdict} ${distinct === reported ? 'in' : 'of'} ${scanned}`;
}

/** Formats the end of a scan: what was found, scanned and left out, and what to do. */
export function summaryLines(summary: ReportSummary, problems: ProblemTally, paint: Paint): string[] {
  const { ignored, below_confidence, baseline, outcome } = summary;
  const lines = [verdictLine(summary, paint)];
  if (summary.verdicts !== undefined) lines.push(`  findings verified: ${verdictCountsText(summary.verdicts)}`);
  if (baseline !== undefined) {
    const gone =
      baseline.gone === 0
        ? ''
        : `, ${counted(baseline.gone, 'finding')} no longer found${outcome === 'complete' ? '' : ' or not scanned'}`;
    lines.push(`  baseline: ${counted(baseline.known, 'finding')} known${gone}`);
  }
  if (ignored > 0) lines.push(`  ignored by fingerprint: ${counted(ignored, 'finding')}`);
  if (below_confidence > 0)
    lines.push(`  less certain, not reported: ${counted(below_confidence, 'finding')} (see --confidence)`);
  lines.push(...problemLines(problems, paint));
  if (outcome === 'aborted') {
    const reason = summary.reason ?? 'it was stopped';
    // A reason that is already listed among the problems is not repeated.
    const why = problems.names(reason) ? '' : `: ${visible(reason)}`;
    lines.push(paint('red', `✖ the scan was aborted${why}`));
  }
  return lines;
}
