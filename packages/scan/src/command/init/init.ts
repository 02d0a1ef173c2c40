import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

import { systemClock } from '@heddle/base/clock';
import { HeddleError } from '@heddle/base/errors';
import { silentLogger } from '@heddle/base/logger';
import { refused, systemFault } from '@heddle/base/terminal/refusal';
import { BaselineCollector } from '../../baseline/write-baseline.ts';
import type { ScanProgress } from '../../result.ts';
import { startScan } from '../../scan.ts';
import { ignoreListOf } from '../known.ts';
import { optionsOf, type ScanRequest } from '../options.ts';
import { rulesOf } from '../rules.ts';
import { inspectSetup, type RepositorySetup } from './repository.ts';
import { scanArguments } from './scan-arguments.ts';
import {
  GITLAB_JOB_PATH,
  githubWorkflow,
  gitlabInclude,
  gitlabJob,
  hookLine,
  hookScript,
  preCommitEntry,
  SCANNER_NAME,
  type SetupFile,
} from './setup-files.ts';

const BASELINE = '.heddle-baseline.json';
const GITHUB_WORKFLOW = '.github/workflows/heddle-scan.yml';
const GITLAB_CI = '.gitlab-ci.yml';
const PRE_COMMIT_CONFIG = '.pre-commit-config.yaml';

export interface InitChoice {
  githubWorkflow: boolean;
  gitlabJob: boolean;
  ci: boolean;
  hook: boolean;
  dryRun: boolean;
}

export interface InitParts {
  /** A directory of the repository. */
  repository: string;
  request: ScanRequest;
  choice: InitChoice;
  notice: (text: string) => void;
  progress: (progress: ScanProgress) => void;
  interrupted: AbortSignal;
}

export interface InitResult {
  /** Findings of the new baseline; null if one exists, and nothing was scanned. */
  findings: number | null;
  objects: number;
  files: readonly SetupFile[];
  /** What to do, a sentence each. */
  next: readonly string[];
}

/** Writes a baseline, a hook and a job for CI; existing files stay as they are. */
export async function initRepository(parts: InitParts): Promise<InitResult> {
  const { request, choice } = parts;
  const setup = await inspectSetup(parts.repository);
  const baseline = request.baseline ?? BASELINE;
  const writer = new SetupWriter(setup.root, choice.dryRun);
  const exists = existsSync(join(setup.root, baseline));
  const found = exists ? null : await scanForBaseline(parts, setup);
  // An empty one too: with it, the hook and the job stay the same when findings are accepted later.
  if (found === null) writer.keep(baseline, 'the baseline; heddle scan --write-baseline replaces it');
  else writer.write({ path: baseline, purpose: acceptedText(found.findings), content: found.text, isShown: false });
  const args = scanArguments(request, baseline);
  if (choice.hook) addHook(writer, setup, args);
  if (choice.ci) addJobs(writer, setup, choice, args);
  return {
    findings: found?.findings ?? null,
    objects: found?.objects ?? 0,
    files: writer.files,
    next: nextSteps(writer.files, parts, { found: found?.findings ?? 0, setup }),
  };
}

function acceptedText(findings: number): string {
  if (findings === 0) return 'a baseline, empty so far';
  return `accepts the ${findings === 1 ? 'one finding' : `${findings} findings`} of today`;
}

interface FoundNow {
  findings: number;
  objects: number;
  text: string;
}

/** Scans what git tracks or would add, by the names that a scan of the repository gives. */
async function scanForBaseline(
  { request, notice, progress, interrupted }: InitParts,
  { root, files }: RepositorySetup,
): Promise<FoundNow> {
  process.chdir(root);
  const collector = new BaselineCollector();
  const ignored = ignoreListOf(request, ['.'], notice);
  let findings = 0;
  try {
    const sources = [{ type: 'list', name: root, paths: files, encoding: 'latin1' } as const];
    const options = optionsOf(request, { sources, rules: rulesOf(request.rules, ['.'], notice) });
    const { metrics } = await startScan(
      { ...options, verify: null },
      {
        onFinding: (finding) => {
          if (ignored.has(finding)) return;
          findings += 1;
          collector.add(finding);
        },
        onProblem: () => undefined,
        onProgress: progress,
      },
      { clock: systemClock, log: silentLogger, signal: interrupted },
    );
    interrupted.throwIfAborted();
    let text = '';
    collector.writeTo({ write: (part) => (text += part) });
    return { findings, objects: metrics.objects_completed, text };
  } catch (error) {
    if (error instanceof HeddleError) throw refused(error.message, error);
    throw error;
  }
}

function addHook(writer: SetupWriter, { root, hooks, hasPreCommitConfig }: RepositorySetup, args: string): void {
  const purpose = 'refuses commits that add a secret';
  if (hasPreCommitConfig) {
    writer.extend({ path: PRE_COMMIT_CONFIG, purpose, content: preCommitEntry(args), remedy: 'add below `repos:`' });
  } else if (hooks === null) {
    const remedy = 'core.hooksPath leads out of the repository; add to the hook pre-commit there, if all may use it';
    writer.blocked({ path: 'pre-commit', purpose, content: hookLine(args), remedy });
  } else {
    const path = relative(root, join(hooks, 'pre-commit'));
    const remedy = 'add this line to the hook, which exists';
    writer.write({ path, purpose, content: hookScript(args), isExecutable: true, line: hookLine(args), remedy });
  }
}

function addJobs(writer: SetupWriter, setup: RepositorySetup, choice: InitChoice, args: string): void {
  const isNamed = choice.githubWorkflow || choice.gitlabJob;
  const purpose = 'fails if a new secret is pushed';
  if (isNamed ? choice.githubWorkflow : setup.isOnGithub)
    writer.write({ path: GITHUB_WORKFLOW, purpose, content: githubWorkflow(args) });
  if (!(isNamed ? choice.gitlabJob : setup.isOnGitlab)) return;
  writer.write({ path: GITLAB_JOB_PATH, purpose, content: gitlabJob(args) });
  const including = { path: GITLAB_CI, purpose: `includes ${GITLAB_JOB_PATH}`, content: gitlabInclude() };
  if (existsSync(join(setup.root, GITLAB_CI))) {
    writer.extend({ ...including, remedy: 'add to its `include:`', mark: GITLAB_JOB_PATH });
  } else writer.write(including);
}

function nextSteps(
  files: readonly SetupFile[],
  { choice, request }: InitParts,
  { found, setup }: { found: number; setup: RepositorySetup },
): string[] {
  const isInGit = (path: string): boolean => !path.startsWith('..') && !path.startsWith('.git/');
  const commit = files.filter(({ state, path }) => state === 'written' && isInGit(path)).map(({ path }) => path);
  const hasJob = choice.githubWorkflow || choice.gitlabJob || setup.isOnGithub || setup.isOnGitlab;
  const isHookLocal = files.some(({ path }) => path.startsWith('.git/'));
  return [
    ...(commit.length > 0 && !choice.dryRun ? [`git add ${commit.join(' ')}, and commit`] : []),
    ...(found > 0
      ? [
          `${request.baseline ?? BASELINE} accepts secrets that are still valid: revoke them; \`heddle scan .\` lists them`,
        ]
      : []),
    ...(isHookLocal ? ['the hook is not part of the repository: run `heddle scan init` in each clone'] : []),
    ...(choice.ci && !hasJob ? ['for a job in CI, run it with --github-workflow or --gitlab-job'] : []),
  ];
}

interface NewFile {
  path: string;
  purpose: string;
  content: string;
  isExecutable?: boolean;
  /** False if the content is not worth showing. */
  isShown?: boolean;
  /** What to add to an existing file instead of the whole content. */
  line?: string;
  remedy?: string;
}

/** Writes files that do not exist. */
class SetupWriter {
  readonly files: SetupFile[] = [];
  readonly #root: string;
  readonly #isDry: boolean;

  constructor(root: string, isDry: boolean) {
    this.#root = root;
    this.#isDry = isDry;
  }

  write({ path, purpose, content, isExecutable = false, isShown = true, line, remedy }: NewFile): void {
    const current = this.#read(path);
    if (current !== null) {
      const isSame = current.includes(line ?? content);
      if (isSame) this.keep(path, purpose);
      else if (current.includes(SCANNER_NAME)) {
        const text = 'it runs another version or has other options; remove it and run this again to replace it';
        this.blocked({ path, purpose, content: line ?? content, remedy: text });
      } else this.blocked({ path, purpose, content: line ?? content, remedy: remedy ?? 'it exists; add this' });
      return;
    }
    if (!this.#isDry) this.#create(path, content, isExecutable);
    this.files.push({ path, purpose, state: 'written', content: isShown ? content : null, remedy: null });
  }

  /** Shows what to add to an existing file, unless it is there. */
  extend({ path, purpose, content, remedy, mark = SCANNER_NAME }: Omit<SetupFile, 'state'> & { mark?: string }): void {
    if (this.#read(path)?.includes(mark) === true) this.keep(path, purpose);
    else this.blocked({ path, purpose, content, remedy });
  }

  keep(path: string, purpose: string): void {
    this.files.push({ path, purpose, state: 'unchanged', content: null, remedy: null });
  }

  blocked(file: Omit<SetupFile, 'state'>): void {
    this.files.push({ ...file, state: 'blocked' });
  }

  #read(path: string): string | null {
    const file = join(this.#root, path);
    try {
      return existsSync(file) ? readFileSync(file, 'utf8') : null;
    } catch (error) {
      throw refused(`${path} cannot be read: ${systemFault(error)}`, error);
    }
  }

  #create(path: string, content: string, isExecutable: boolean): void {
    const file = join(this.#root, path);
    try {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content, { flag: 'wx' });
      if (isExecutable) chmodSync(file, 0o755);
    } catch (error) {
      throw refused(`${path} cannot be written: ${systemFault(error)}`, error);
    }
  }
}
