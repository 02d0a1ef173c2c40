import type { BaselineEntry } from './baseline.ts';
import { UnusableFile } from './unusable-file.ts';

/** Version of the format that `writeBaseline` writes. */
export const BASELINE_VERSION = 1;

const FINGERPRINT = /^[0-9a-f]{32}$/;
const REDACTED = /^(REDACTED|\*+|)$|\.\.\.$|\*\*\*$/;

/**
 * Parses a baseline: Heddle's own format, a JSON Lines report, or a gitleaks report in JSON.
 *
 * @param name name of the file, for messages
 * @throws UnusableFile
 */
export function readBaseline(name: string, text: string): BaselineEntry[] {
  const content = text.replace(/^\ufeff/, '').trim();
  if (content === '') throw new UnusableFile(`${name} is empty; write a baseline with --write-baseline`);
  if (/^\{\s*"type"\s*:/.test(content)) return fromJsonLines(name, content);
  const value = parsed(name, content);
  if (Array.isArray(value)) return value.map((each: unknown, index) => fromGitleaks(name, each, index));
  if (isObject(value) && 'heddle_baseline' in value) return fromOwn(name, value);
  throw new UnusableFile(
    `${name} is not a baseline; use a file from --write-baseline, a JSON Lines report, or a gitleaks JSON report`,
  );
}

function parsed(name: string, text: string, line?: number): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const place = line === undefined ? '' : `, line ${line}`;
    throw new UnusableFile(`${name}${place} is not valid JSON: ${(error as Error).message}`);
  }
}

function fromOwn(name: string, { heddle_baseline: version, findings }: Record<string, unknown>): BaselineEntry[] {
  if (version !== BASELINE_VERSION) {
    throw new UnusableFile(
      `${name} is baseline version ${JSON.stringify(version)}, but this Heddle reads ${BASELINE_VERSION}; write it again`,
    );
  }
  if (!Array.isArray(findings)) throw new UnusableFile(`${name}: findings: must be an array`);
  return findings.map((each: unknown, index): BaselineEntry => {
    const place = `${name}: findings[${index}]`;
    if (!isObject(each)) throw new UnusableFile(`${place}: must be an object`);
    const { fingerprint, count = 1 } = each;
    if (typeof fingerprint !== 'string' || !FINGERPRINT.test(fingerprint)) {
      throw new UnusableFile(`${place}.fingerprint: must be 32 hexadecimal digits`);
    }
    if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 1) {
      throw new UnusableFile(`${place}.count: must be a whole number from 1`);
    }
    return { by: 'fingerprint', fingerprint, count };
  });
}

function fromJsonLines(name: string, content: string): BaselineEntry[] {
  return content.split('\n').flatMap((line, index): BaselineEntry[] => {
    if (line.trim() === '') return [];
    const value = parsed(name, line, index + 1);
    if (!isObject(value) || value['type'] !== 'finding') return [];
    const { fingerprint } = value;
    if (typeof fingerprint !== 'string' || !FINGERPRINT.test(fingerprint)) {
      throw new UnusableFile(`${name}, line ${index + 1}: fingerprint: must be 32 hexadecimal digits`);
    }
    return [{ by: 'fingerprint', fingerprint, count: 1 }];
  });
}

/**
 * Reads a gitleaks finding. Its rules have other names, so the secret and its path identify it, or the location if the
 * report is redacted.
 */
function fromGitleaks(name: string, value: unknown, index: number): BaselineEntry {
  const place = `${name}: [${index}]`;
  if (!isObject(value)) throw new UnusableFile(`${place}: must be a gitleaks finding (an object)`);
  const { RuleID: ruleId, File: path, Secret: secret, StartLine: line } = value;
  if (typeof path !== 'string' || typeof ruleId !== 'string') {
    throw new UnusableFile(`${place}: has no RuleID or no File; a gitleaks JSON report has both`);
  }
  if (typeof secret === 'string' && !REDACTED.test(secret)) return { by: 'secret', path, secret, count: 1 };
  if (typeof line !== 'number') throw new UnusableFile(`${place}: has neither a Secret nor a StartLine`);
  return { by: 'place', path, rule_id: ruleId, line, count: 1 };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
