import { existsSync, statSync } from 'node:fs';

import { systemClock } from '@heddle/base/clock';
import { HeddleError } from '@heddle/base/errors';
import { silentLogger } from '@heddle/base/logger';
import { refused } from '@heddle/base/terminal/refusal';
import type { LineExplanation } from '../../detect/explain/line-explanation.ts';
import type { ScanOptions, SourceSpec } from '../../options.ts';
import { pathFilter } from '../../path-filter.ts';
import type { Finding, Problem, ScanProgress } from '../../result.ts';
import { startScan } from '../../scan.ts';
import { baselineOf, ignoreListOf } from '../known.ts';
import { optionsOf, type ScanRequest } from '../options.ts';
import { rulesOf } from '../rules.ts';
import { sourcesOf, type ScanSources } from '../sources.ts';
import { type Explanation, explanationOf } from './explanation.ts';
import { findInReport } from './report-lookup.ts';

export interface ExplainParts {
  /** `FILE:LINE`, or a fingerprint. */
  place: string;
  fromReport: string | null;
  request: ScanRequest;
  notice: (text: string) => void;
  progress: (progress: ScanProgress) => void;
}

const FINGERPRINT = /^[0-9a-f]{32}$/i;
const PLACE = /^(.+?):(\d{1,10})(?::\d+)?$/s;

/** What was asked for, and what it takes to scan it again. */
interface Question {
  sources: readonly SourceSpec[];
  directories: readonly string[];
  path: string;
  line: number;
  /** Unredacted; null if the line was asked for. */
  finding: Finding | null;
}

/** Scans the object of a line again, and explains how the scan decides about the line. */
export async function explainPlace(parts: ExplainParts, interrupted: AbortSignal): Promise<Explanation> {
  refuseOutputs(parts.request);
  try {
    const isFingerprint = FINGERPRINT.test(parts.place);
    const question = isFingerprint ? await questionOfFingerprint(parts, interrupted) : questionOfLine(parts);
    return await answer(parts, question, interrupted);
  } catch (error) {
    if (error instanceof HeddleError) throw refused(error.message, error);
    throw error;
  }
}

function refuseOutputs({ output, reports, writeBaseline, state }: ScanRequest): void {
  const given = [
    ...(output === null ? [] : ['--output']),
    ...(reports.length === 0 ? [] : ['--report']),
    ...(writeBaseline === null ? [] : ['--write-baseline']),
    ...(state === null ? [] : ['--state']),
  ];
  if (given[0] !== undefined) throw refused(`${given[0]} has no effect on an explanation; remove it`);
}

function questionOfLine({ place, request }: ExplainParts): Question {
  const [, path, line] = PLACE.exec(place) ?? [];
  if (path === undefined || Number(line) === 0) {
    throw refused(`${place}: must be FILE:LINE with a line from 1, such as src/app.env:3, or a fingerprint`);
  }
  // A scan of `.` names files without a leading `./`.
  const named = path.replace(/^(?:\.\/+)+/, '');
  const { specs, directories } = sourcesOfLine(named, request);
  return { sources: specs, directories, path: named, line: Number(line), finding: null };
}

/** Returns the file of a path, without the names of archive entries; or the named sources, such as a history. */
function sourcesOfLine(path: string, request: ScanRequest): ScanSources {
  const { git, staged, diff, filesFrom } = request;
  if (git.length > 0 || staged || diff !== null || filesFrom !== null) return sourcesOf(request);
  const parts = path.split('!');
  const files = parts.map((_, index) => parts.slice(0, index + 1).join('!'));
  const file = files.findLast((each) => existsSync(each) && !statSync(each).isDirectory());
  if (file === undefined) {
    throw refused(`${path}: no such file; name it as the scan does, or name its source, such as --git .`);
  }
  const directories = request.paths.length > 0 ? request.paths : ['.'];
  return { specs: [{ type: 'path', path: file, follow_links: true }], directories };
}

async function questionOfFingerprint(parts: ExplainParts, interrupted: AbortSignal): Promise<Question> {
  const { place, fromReport, request } = parts;
  const fingerprint = place.toLowerCase();
  const known = fromReport === null ? null : findInReport(fromReport, fingerprint);
  const { specs, directories } = known === null ? sourcesOf(request) : sourcesOfLine(known.path, request);
  let found: Finding | null = null;
  const stop = new AbortController();
  const options = scanOptions(parts, specs, directories);
  await startScan(
    { ...options, confidence: 'low' },
    {
      onFinding: (finding) => {
        if (found !== null || finding.fingerprint !== fingerprint) return;
        found = finding;
        stop.abort();
      },
      onProblem: () => undefined,
      onProgress: parts.progress,
    },
    { clock: systemClock, log: silentLogger, signal: AbortSignal.any([stop.signal, interrupted]) },
  );
  interrupted.throwIfAborted();
  const finding = found as Finding | null;
  if (finding === null) {
    const where = known?.path ?? (request.paths.length === 0 ? 'the working directory' : request.paths.join(', '));
    throw refused(
      `${place}: no finding in ${where} has this fingerprint; name the same paths, sources and rules as the scan that ` +
        'reported it, since they are part of the fingerprint',
    );
  }
  return { sources: specs, directories, path: finding.path, line: finding.line, finding };
}

function scanOptions(
  { request, notice }: ExplainParts,
  sources: readonly SourceSpec[],
  directories: readonly string[],
): ScanOptions {
  return optionsOf(request, { sources, rules: rulesOf(request.rules, directories, notice) });
}

async function answer(parts: ExplainParts, question: Question, interrupted: AbortSignal): Promise<Explanation> {
  const { request } = parts;
  const { sources, directories, path, line } = question;
  const quiet = { ...parts, notice: question.finding === null ? parts.notice : (): void => undefined };
  const options = scanOptions(quiet, sources, directories);
  const findings: Finding[] = [];
  const problems: Problem[] = [];
  const explained: LineExplanation[] = [];
  await startScan(
    { ...options, include: [], exclude: [], threads: 1 },
    {
      onFinding: (finding) => void findings.push(finding),
      onProblem: (problem) => {
        if (problem.path === path || path.startsWith(`${problem.path}!`)) problems.push(problem);
      },
      onProgress: parts.progress,
    },
    {
      clock: systemClock,
      log: silentLogger,
      signal: interrupted,
      explain: { path, line, onExplained: (each) => void explained.push(each) },
    },
  );
  interrupted.throwIfAborted();
  return explanationOf({
    place: { path, line },
    asked: question.finding,
    findings: findings.filter((each) => each.path === path),
    problems,
    explained: explained.find((each) => hasFinding(each, question.finding)) ?? explained[0] ?? null,
    filters: filtersOf(options, path),
    options,
    ignored: ignoreListOf(request, directories, () => undefined),
    baseline: baselineOf(request, directories),
    showSecrets: request.showSecrets,
  });
}

/** A history has several versions of one path. */
function hasFinding({ matches }: LineExplanation, finding: Finding | null): boolean {
  return finding !== null && matches.some((each) => each.rule_id === finding.rule_id && each.secret === finding.secret);
}

/** Returns which filters of paths leave the object out of a scan, a sentence each. */
function filtersOf({ include, exclude }: ScanOptions, path: string): string[] {
  const matches = (glob: string): boolean => pathFilter({ include: [glob], exclude: [] })(path);
  return [
    ...exclude.filter(matches).map((glob) => `--exclude ${glob} leaves it out of the scan`),
    ...(include.length > 0 && !include.some(matches) ? [`no --include selects it: ${include.join(', ')}`] : []),
  ];
}
