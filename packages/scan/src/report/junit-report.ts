import type { Problem } from '../result.ts';
import { PROBLEM_WORDS } from './problem-words.ts';
import type { ReportedFinding, ReportSummary, ScanReport, TextSink } from './report.ts';
import { verificationText } from './verification-words.ts';
import { Spool } from './spool.ts';

/** Characters that XML 1.0 cannot contain, not even escaped. */
const INVALID =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\n': '&#10;',
  '\r': '&#13;',
  '\t': '&#9;',
};

/** Escapes text for content or attributes of XML 1.0; characters that XML cannot contain become U+FFFD. */
export function xmlText(text: string): string {
  return text.replace(INVALID, '\ufffd').replace(/[&<>"'\n\r\t]/g, (character) => ESCAPES[character]!);
}

/** JUnit XML: a finding is a failed test, an incompletely scanned object an error; a clean scan is one passed test. */
export class JunitReport implements ScanReport {
  readonly #sink: TextSink;
  readonly #findings = new Spool();
  readonly #problems = new Spool();
  #failures = 0;
  #errors = 0;
  #notices = 0;

  constructor(sink: TextSink) {
    this.#sink = sink;
  }

  finding(finding: ReportedFinding): void {
    this.#failures += 1;
    const { rule_id, description, path, line, column, match, fingerprint, commit, encodings } = finding;
    const { confidence, confidence_reason, key_path, verification } = finding;
    const place = `${path}:${line}:${column}`;
    const lines = [
      `rule: ${rule_id}`,
      `place: ${place}`,
      `match: ${match}`,
      ...(key_path === undefined ? [] : [`key: ${key_path}`]),
      `confidence: ${confidence}: ${confidence_reason}`,
      ...(verification === undefined ? [] : [`verified: ${verificationText(verification)}`]),
      `fingerprint: ${fingerprint}`,
      ...(finding.secret_id === null ? [] : [`secret id: ${finding.secret_id}`]),
      ...(encodings.length === 0 ? [] : [`encoded as: ${encodings.join(', then ')}`]),
      ...(commit === undefined ? [] : [`commit: ${commit.id} ${commit.date} ${commit.author} <${commit.email}>`]),
    ];
    this.#findings.write(
      `    <testcase classname="${xmlText(path)}" name="${xmlText(`${rule_id} at ${line}:${column}`)}" file="${xmlText(path)}" line="${line}">\n` +
        `      <failure type="${xmlText(rule_id)}" message="${xmlText(`${place}: ${description}`)}">${xmlText(lines.join('\n'))}</failure>\n` +
        '    </testcase>\n',
    );
  }

  problem({ code, path, message, extent }: Problem): void {
    const text = xmlText(message);
    const outcome =
      extent === 'notice' ? `<skipped message="${text}"/>` : `<error type="${code}" message="${text}">${text}</error>`;
    if (extent === 'notice') this.#notices += 1;
    else this.#errors += 1;
    const name = xmlText(`${PROBLEM_WORDS[code].title} (${extent})`);
    this.#problems.write(
      `    <testcase classname="${xmlText(path)}" name="${name}" file="${xmlText(path)}">\n      ${outcome}\n    </testcase>\n`,
    );
  }

  end(summary: ReportSummary): void {
    const ended = summary.outcome !== 'aborted';
    const errors = this.#errors + (ended ? 0 : 1);
    const problemTests = errors + this.#notices;
    const tests = Math.max(1, this.#failures) + problemTests;
    const time = (summary.duration_ms / 1000).toFixed(3);
    const sink = this.#sink;
    sink.write('<?xml version="1.0" encoding="UTF-8"?>\n');
    sink.write(
      `<testsuites name="heddle scan" tests="${tests}" failures="${this.#failures}" errors="${errors}" skipped="${this.#notices}" time="${time}">\n`,
    );
    sink.write(
      `  <testsuite name="secrets" tests="${Math.max(1, this.#failures)}" failures="${this.#failures}" errors="0" skipped="0" time="${time}">\n`,
    );
    if (this.#failures === 0) sink.write('    <testcase classname="heddle scan" name="no secrets were found"/>\n');
    this.#findings.drainTo(sink);
    sink.write('  </testsuite>\n');
    sink.write(
      `  <testsuite name="objects" tests="${problemTests}" failures="0" errors="${errors}" skipped="${this.#notices}" time="0.000">\n`,
    );
    this.#problems.drainTo(sink);
    if (!ended) {
      const reason = xmlText(summary.reason ?? 'the scan was aborted');
      sink.write(
        `    <testcase classname="heddle scan" name="the scan completed">\n      <error type="aborted" message="${reason}"/>\n    </testcase>\n`,
      );
    }
    sink.write('  </testsuite>\n</testsuites>\n');
  }
}
