import { readFileSync } from 'node:fs';
import { extname } from 'node:path';

import { compileRules } from '@heddle/scan/internal/detect/compile-rules';
import { createDetector } from '@heddle/scan/internal/detect/detector';
import type { Case } from './corpora.ts';

/** Returns the lines of a case with findings, each with its rules. */
type LinesOf = (each: Case) => Map<number, string[]> | Promise<Map<number, string[]>>;

const BUFFER_BYTES = 4 * 1024 * 1024;

/** @param file rules that take the place of the built-in ones */
export function heddle(file: string | undefined): LinesOf {
  const options = {
    confidence: 'medium' as const,
    contextLines: 0,
    rules: file === undefined ? [] : [{ name: file, toml: readFileSync(file, 'utf8') }],
    decodeDepth: 2,
    inlineIgnores: false,
    ruleTimeoutMs: 60_000,
  };
  const detector = createDetector(compileRules(options), options, { buffers_max: 1, buffer_bytes: BUFFER_BYTES });
  return ({ path, text }) => {
    const bytes = Buffer.from(text);
    const chunk = { bytes, length: bytes.length, prefix_length: 0, base_offset: 0, last: true };
    const found = detector.begin(path)?.scan(chunk) ?? [];
    // As a scan reports them.
    const reported = found.filter(({ confidence }) => confidence !== 'low');
    return byLine(reported.map(({ line, rule_id }) => [line, rule_id]));
  };
}

/** Its recommended rules. */
export async function secretlint(): Promise<LinesOf> {
  const { lintSource } = await import('@secretlint/core');
  const { creator } = await import('@secretlint/secretlint-rule-preset-recommend');
  const config = { rules: [{ id: '@secretlint/secretlint-rule-preset-recommend', rule: creator, options: {} }] };
  return async ({ path, text }) => {
    const source = { filePath: path, content: text, ext: extname(path), contentType: 'text' as const };
    const { messages } = await lintSource({ source, options: { config } });
    // It keeps marks of every file.
    performance.clearMarks();
    return byLine(messages.map(({ loc, ruleId }) => [loc.start.line, ruleId]));
  };
}

function byLine(found: readonly (readonly [line: number, rule: string])[]): Map<number, string[]> {
  const lines = new Map<number, string[]>();
  for (const [line, rule] of found) lines.set(line, [...(lines.get(line) ?? []), rule]);
  return lines;
}
