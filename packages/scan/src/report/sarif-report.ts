import type { Confidence } from '@heddle/base/vocabulary/confidence';
import type { Finding, Problem, ProblemCode } from '../result.ts';
import { PROBLEM_WORDS } from './problem-words.ts';
import type { ReportedFinding, ReportSummary, ScanReport, TextSink } from './report.ts';
import { FileColumns } from './sarif-columns.ts';
import { artifactUri } from './sarif-uri.ts';
import { Spool } from './spool.ts';

export interface SarifOptions {
  sink: TextSink;
  /** Version of Heddle. */
  version: string;
  /** Base of relative paths. */
  workingDirectory: string;
}

const SCHEMA = 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json';

const INFORMATION_URI = 'https://www.npmjs.com/package/heddle';

/** Limits of code scanning services for a rule. */
const RULE_TAGS_MAX = 20;
const TEXT_LENGTH_MAX = 1024;

/** Secrets whose first place is kept. */
const FIRST_PLACES_MAX = 10_000;

/** How much attention a finding deserves: viewers sort by the rank, from 0 to 100. */
const LEVELS: Readonly<Record<Confidence, { level: 'error' | 'warning' | 'note'; rank: number }>> = {
  high: { level: 'error', rank: 90 },
  medium: { level: 'warning', rank: 60 },
  low: { level: 'note', rank: 20 },
};

/** A verdict says more than the confidence. */
function importanceOf({ confidence, verification }: Finding): (typeof LEVELS)[Confidence] {
  if (verification?.verdict === 'active') return { level: 'error', rank: 100 };
  return verification?.verdict === 'inactive' ? { level: 'note', rank: 10 } : LEVELS[confidence];
}

const HELP =
  'Anyone who can read this text can use the secret. Revoke it where it was issued, issue a new one, and keep it in a ' +
  'secret store; removing the text alone does not help, since copies and the history keep it. To suppress a false ' +
  'positive, add the comment "heddle:allow" on its line, or its fingerprint to .heddleignore.';

/** Writes SARIF 2.1.0: results as they arrive, then the tool's description and what was not scanned. */
export class SarifReport implements ScanReport {
  readonly #sink: TextSink;
  readonly #version: string;
  readonly #workingDirectory: string;
  readonly #columns = new FileColumns();
  readonly #notifications = new Spool();
  /** Rules with findings, in the order of their first finding; bounded by the number of rules. */
  readonly #rules = new Map<string, { index: number; rule: object }>();
  readonly #codes = new Set<ProblemCode>();
  /** By secret. */
  readonly #firstPlaces = new Map<string, { path: string; line: number }>();
  #begun = false;

  constructor({ sink, version, workingDirectory }: SarifOptions) {
    this.#sink = sink;
    this.#version = version;
    this.#workingDirectory = workingDirectory;
  }

  finding(finding: ReportedFinding): void {
    const { rule_id, match, secret, fingerprint, encodings, entropy, tags, commit } = finding;
    const { confidence, confidence_reason, key_path, key_name, verification } = finding;
    const sentence = sentenceOf(finding);
    const result = {
      ruleId: rule_id,
      ruleIndex: this.#ruleIndex(finding),
      ...importanceOf(finding),
      message: { text: secret === '' ? sentence : `${sentence.replace(/\.$/, '')}: ${secret}` },
      locations: [
        {
          physicalLocation: {
            artifactLocation: this.#artifact(finding.path),
            region: this.#region(finding),
            ...contextRegion(finding),
          },
        },
      ],
      ...this.#firstPlace(finding),
      partialFingerprints: { 'heddleFingerprint/v1': fingerprint },
      properties: {
        match,
        entropy,
        tags,
        confidence,
        confidence_reason,
        ...(verification === undefined ? {} : { verification }),
        ...(key_path === undefined ? {} : { key_path }),
        ...(key_name === undefined ? {} : { key_name }),
        path: finding.path,
        ...(finding.secret_id === null ? {} : { secret_id: finding.secret_id }),
        byte_column: finding.column,
        byte_end_column: finding.end_column,
        ...(encodings.length === 0 ? {} : { encodings }),
        ...(commit === undefined ? {} : { commit }),
      },
    };
    this.#begin();
    this.#sink.write(`${this.#separator()}\n${JSON.stringify(result)}`);
  }

  problem({ code, path, message, extent }: Problem): void {
    this.#codes.add(code);
    this.#notify({
      descriptor: { id: code },
      level: extent === 'notice' ? 'note' : 'warning',
      message: { text: message },
      locations: [{ physicalLocation: { artifactLocation: this.#artifact(path) } }],
      properties: { extent },
    });
  }

  end({ outcome, reason }: ReportSummary): void {
    this.#begin();
    this.#columns.close();
    if (outcome === 'aborted') {
      this.#notify({ level: 'error', message: { text: reason ?? 'the scan was aborted' } });
    }
    const sink = this.#sink;
    sink.write(`\n],\n"invocations":[{"executionSuccessful":${outcome !== 'aborted'},"toolExecutionNotifications":[`);
    this.#notifications.drainTo(sink);
    sink.write(
      `\n],"properties":${JSON.stringify({ outcome })}}],\n"tool":${JSON.stringify({ driver: this.#driver() })}}]}\n`,
    );
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#sink.write(
      `{"$schema":${JSON.stringify(SCHEMA)},"version":"2.1.0","runs":[{"columnKind":"utf16CodeUnits","results":[`,
    );
  }

  #written = 0;

  #separator(): string {
    this.#written += 1;
    return this.#written === 1 ? '' : ',';
  }

  #notify(notification: object): void {
    this.#notifications.write(`${this.#notifications.isEmpty ? '' : ','}\n${JSON.stringify(notification)}`);
  }

  #artifact(path: string): object {
    return { uri: artifactUri(path, this.#workingDirectory) };
  }

  /** Each place is a result, since each must be changed; one after the first of its secret leads to that. */
  #firstPlace({ secret_id, path, line }: ReportedFinding): { relatedLocations?: object[] } {
    if (secret_id === null) return {};
    const first = this.#firstPlaces.get(secret_id);
    if (first === undefined) {
      if (this.#firstPlaces.size < FIRST_PLACES_MAX) this.#firstPlaces.set(secret_id, { path, line });
      return {};
    }
    const physicalLocation = { artifactLocation: this.#artifact(first.path), region: { startLine: first.line } };
    return { relatedLocations: [{ id: 0, message: { text: 'The same secret' }, physicalLocation }] };
  }

  /** Omits columns that are unknown in SARIF's unit: the region is then the whole lines. */
  #region(finding: Finding): object {
    const { line, end_line, offset, length } = finding;
    const columns = this.#columns.of(finding);
    const bytes = { byteOffset: offset, byteLength: length };
    if (columns === null) return { startLine: line, endLine: end_line, ...bytes };
    return { startLine: line, startColumn: columns.start, endLine: end_line, endColumn: columns.end, ...bytes };
  }

  #ruleIndex(finding: Finding): number {
    const { rule_id, tags } = finding;
    const known = this.#rules.get(rule_id);
    if (known !== undefined) return known.index;
    const index = this.#rules.size;
    const description = { text: sentenceOf(finding).slice(0, TEXT_LENGTH_MAX) };
    const rule = {
      id: rule_id,
      ...ruleName(rule_id),
      shortDescription: description,
      fullDescription: description,
      help: { text: HELP, markdown: HELP },
      defaultConfiguration: { level: 'error' },
      properties: {
        tags: [...new Set(['security', 'secret', ...tags])].slice(0, RULE_TAGS_MAX),
        precision: 'high',
        'security-severity': '8.0',
      },
    };
    this.#rules.set(rule_id, { index, rule });
    return index;
  }

  #driver(): object {
    const codes = [...this.#codes].sort();
    return {
      name: 'Heddle',
      semanticVersion: this.#version,
      version: this.#version,
      informationUri: INFORMATION_URI,
      rules: [...this.#rules.values()].map(({ rule }) => rule),
      notifications: codes.map((code) => ({
        id: code,
        shortDescription: { text: `Not scanned completely: ${PROBLEM_WORDS[code].title}` },
      })),
    };
  }
}

/** Returns the lines around a secret; those whose numbers are missing are part of the masked secret before them. */
function contextRegion({ context = [], end_line }: Finding): { contextRegion?: object } {
  const [first, last] = [context[0], context.at(-1)];
  if (first === undefined || last === undefined) return {};
  const endLine = Math.max(last.number, end_line);
  const text = context.map((line) => line.text).join('\n');
  return { contextRegion: { startLine: first.number, endLine, snippet: { text } } };
}

/** Describes a finding; custom rules may lack a description, and SARIF requires a message. */
function sentenceOf({ rule_id, description }: Finding): string {
  return description === '' ? `Found what the rule ${rule_id} looks for.` : description;
}

/**
 * Returns the id in camel case (`SlackBotToken`); empty if that equals the id, since SARIF wants two different values.
 */
function ruleName(id: string): { name?: string } {
  const words = id.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
  const name = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
  return name === '' || name === id ? {} : { name };
}
