import type { ContextLine, Problem } from '../result.ts';
import { byteCount, counted, elapsed } from './figures.ts';
import { xmlText } from './junit-report.ts';
import type { ReportedFinding, ReportSummary, ScanReport, TextSink } from './report.ts';
import { secretsInPlaces } from './secret-count.ts';
import { type SecretGroup, SecretGroups } from './secret-groups.ts';
import { Spool } from './spool.ts';
import { URGENCIES, type Urgency, urgencyOf } from './urgency.ts';
import { verificationText } from './verification-words.ts';
import { visible } from './visible.ts';

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d5dae1, #38414d); --quiet: light-dark(#56606d, #9aa5b3);
  --mark: light-dark(#fff0c2, #5c4a10); --bad: light-dark(#b3330b, #ff8a62) }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif }
h1 { font-size: 1.5rem } h2 { margin-top: 2rem; font-size: 1.15rem }
article { margin: 1rem 0; padding: .75rem 1rem; border: 1px solid var(--line); border-radius: 6px }
article h3 { margin: 0; font-size: 1rem; overflow-wrap: anywhere }
p { margin: .25rem 0 } code, pre { font: 13px/1.45 ui-monospace, monospace; overflow-wrap: anywhere }
pre { overflow-x: auto; margin: .5rem 0 } pre b { color: var(--quiet); font-weight: normal }
mark { background: var(--mark); color: inherit } .quiet { color: var(--quiet) } .bad { color: var(--bad) }`;

const HEADINGS: Readonly<Record<Urgency, string>> = {
  active: 'Active: revoke these now',
  high: 'Revoke these first',
  medium: 'Look at these next',
  low: 'Less certain',
  inactive: 'Inactive: remove these from the text',
};

/** One page without scripts or other files: active secrets, the others by confidence, then what was not scanned. */
export class HtmlReport implements ScanReport {
  readonly #sink: TextSink;
  readonly #groups = new SecretGroups();
  readonly #sections = new Map<Urgency, { spool: Spool; count: number }>();
  readonly #problems = new Spool();

  constructor(sink: TextSink) {
    this.#sink = sink;
  }

  finding(finding: ReportedFinding): void {
    this.#groups.add(finding);
  }

  problem({ path, message, extent }: Problem): void {
    this.#problems.write(`<li><code>${htmlText(path)}</code> (${extent}): ${htmlText(message)}</li>\n`);
  }

  end(summary: ReportSummary): void {
    this.#groups.drain((group) => this.#add(group));
    const {
      reported,
      metrics,
      duration_ms,
      below_confidence: below,
      ignored,
      outcome,
      reason = 'it was stopped',
    } = summary;
    const verdict = reported === 0 ? 'No secrets were found' : `${secretsInPlaces(summary)} found`;
    this.#sink.write(
      '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n' +
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'">\n' +
        `<meta name="viewport" content="width=device-width"><title>${verdict}</title>\n<style>${STYLE}\n</style>\n` +
        `<h1>${verdict}</h1>\n<p class="quiet">${counted(metrics.objects_completed, 'object')}, ` +
        `${byteCount(metrics.bytes_scanned)}, in ${elapsed(duration_ms)}` +
        (below > 0 ? `; less certain and not shown: ${counted(below, 'finding')}` : '') +
        `${ignored > 0 ? `; ignored by fingerprint: ${counted(ignored, 'finding')}` : ''}</p>\n`,
    );
    if (outcome === 'aborted') this.#sink.write(`<p class="bad">The scan was aborted: ${htmlText(reason)}</p>\n`);
    for (const urgency of URGENCIES) this.#section(urgency);
    if (this.#problems.isEmpty) return;
    this.#sink.write('<h2>Not scanned completely</h2>\n<ul>\n');
    this.#problems.drainTo(this.#sink);
    this.#sink.write('</ul>\n');
  }

  #add(group: SecretGroup): void {
    const urgency = urgencyOf(group.lead);
    const part = this.#sections.get(urgency) ?? { spool: new Spool(), count: 0 };
    this.#sections.set(urgency, part);
    part.count += 1;
    part.spool.write(articleOf(group));
  }

  #section(urgency: Urgency): void {
    const part = this.#sections.get(urgency);
    if (part === undefined) return;
    const what = urgency === 'active' || urgency === 'inactive' ? '' : ` of ${urgency} confidence`;
    const note = `<span class="quiet">${counted(part.count, 'secret')}${what}</span>`;
    this.#sink.write(`<h2>${HEADINGS[urgency]} ${note}</h2>\n`);
    part.spool.drainTo(this.#sink);
  }
}

function articleOf({ lead: finding, count, others }: SecretGroup): string {
  const { rule_id, description, path, line, column, secret, confidence_reason, key_path, commit, fingerprint } =
    finding;
  const key = key_path === undefined ? '' : `<p>Key: <code>${htmlText(key_path)}</code></p>\n`;
  const verified =
    finding.verification === undefined
      ? ''
      : `<p>${htmlText(capitalised(verificationText(finding.verification)))}; asked ${finding.verification.checked_at}</p>\n`;
  const origin =
    commit === undefined
      ? ''
      : `<p>Commit <code>${htmlText(commit.id.slice(0, 12))}</code> of ${htmlText(commit.date)} by ` +
        `${htmlText(`${commit.author} <${commit.email}>`)}: ${htmlText(commit.subject)}` +
        `${commit.url === undefined ? '' : `<br>${htmlText(commit.url)}`}</p>\n`;
  return (
    `<article>\n<h3><code>${htmlText(`${path}:${line}:${column}`)}</code></h3>\n<p>${htmlText(description)}</p>\n` +
    `${contextOf(finding.context ?? [])}${verified}${key}${origin}${placesOf(others, count)}` +
    `<p class="quiet">${htmlText(rule_id)}; ${secret === '' ? '' : `secret <code>${htmlText(secret)}</code>; `}` +
    `${htmlText(confidence_reason)}; fingerprint <code>${htmlText(fingerprint)}</code></p>\n</article>\n`
  );
}

function placesOf(others: SecretGroup['others'], count: number): string {
  if (count === 1) return '';
  const items = others.map(({ path, line, column, fingerprint, commit }) => {
    const origin = commit === null ? '' : ` in commit <code>${htmlText(commit.slice(0, 12))}</code>`;
    const place = `<code>${htmlText(`${path}:${line}:${column}`)}</code>${origin}`;
    return `<li>${place} <span class="quiet">${htmlText(fingerprint)}</span></li>\n`;
  });
  const rest = count - 1 - others.length;
  if (rest > 0) items.push(`<li>and ${counted(rest, 'more place', 'more places')}</li>\n`);
  return `<p>In ${counted(count, 'place')}, also at:</p>\n<ul>\n${items.join('')}</ul>\n`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function contextOf(lines: readonly ContextLine[]): string {
  if (lines.length === 0) return '';
  const width = String(lines.at(-1)!.number).length;
  const shown = lines.map(({ number, text, mark }) => {
    const code =
      mark === undefined
        ? htmlText(text)
        : `${htmlText(text.slice(0, mark.start))}<mark>${htmlText(text.slice(mark.start, mark.end))}</mark>` +
          htmlText(text.slice(mark.end));
    return `<b>${String(number).padStart(width)}</b>  ${code}`;
  });
  return `<pre>${shown.join('\n')}</pre>\n`;
}

/** Escapes text for content of HTML, with control characters made visible. */
function htmlText(text: string): string {
  return xmlText(visible(text.replaceAll('\t', '    ')));
}
