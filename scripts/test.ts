/**
 * `npm test [-- PATTERN...]`: runs the tests of all packages, and those of `test/`, on one PostgreSQL. A pattern is a part of a file's path
 * (`engine/claim`); with patterns, only the matching files run. The last line of the output is the summary. If only a few
 * files fail, they run once more, alone; the summary names those that then passed as flaky, and in CI they fail the run.
 * Every process that the tests started is ended with them, however the run ends.
 */
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, globSync, mkdirSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { spec } from 'node:test/reporters';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { keepCompiledCode } from '@heddle/base/compile-cache';
import { startTestServer, type TestServer } from '@heddle/test-support/postgres';
import { type Counts, type FileResult, runFiles, slowest } from './test-files.ts';
import { endProcesses, MARK_VARIABLE } from './test-processes.ts';

const ROOT = join(import.meta.dirname, '..');
const NODE_MIN = [22, 19] as const;
const CONCURRENCY = 2;
/** While processors are idle, because tests wait for timers and for processes they have killed. */
const CONCURRENCY_MAX = 5;
const MEMORY = '/dev/shm';
const MEMORY_FREE_BYTES_MIN = 4 * 1024 ** 3;
const RUN = randomUUID();
const MARK = `${RUN}/`;
/**
 * Of databases; in memory where there is room, since a new database for each test file is mostly file system work. Its
 * path is short, because those of sockets are.
 */
const RUN_DIRECTORY = join(hasRoomInMemory() ? MEMORY : tmpdir(), `heddle-test-${RUN.slice(0, 8)}`);
const SUPPORT = join(ROOT, 'packages/test-support/src');
/** For fewer files, it takes longer to make the catalog of modules and the data directory than they save. */
const CATALOG_FILES_MIN = 20;
const FILE_TIMEOUT_MS = 5 * 60_000;
const SLOWEST_SHOWN = 8;
/** More files than these that fail are no accident of a busy machine. */
const RERUN_FILES_MAX = 3;

const DATABASE_VARIABLE = 'HEDDLE_TEST_DATABASE_URL';
/** Where tests make the directories of databases of their own. */
const DIRECTORY_VARIABLE = 'HEDDLE_TEST_DIRECTORY';
/** A data directory of `heddle up` to copy. */
const DATA_VARIABLE = 'HEDDLE_TEST_DATA_TEMPLATE';

interface Totals extends Counts {
  /** Paths of files that failed at first and passed when they ran again. */
  readonly flaky: readonly string[];
}

/** Refuses a Node that cannot run TypeScript, by a sentence instead of a puzzle. */
function requireNode(): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return;
  const needed = `Node ${NODE_MIN.join('.')} or newer is needed, this is ${process.versions.node} (${process.execPath})`;
  console.error(`${needed}. Run \`npm ci\`, then \`npm test\`: npm uses the Node that is among the dependencies.`);
  process.exit(1);
}

function selectFiles(patterns: readonly string[]): string[] {
  const all = globSync(['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'], { cwd: ROOT }).map((path) =>
    path.replaceAll('\\', '/'),
  );
  const chosen = (path: string): boolean => patterns.length === 0 || patterns.some((part) => path.includes(part));
  // The tests of the whole come first: no long one is left alone at the end, on one processor.
  return all.filter(chosen).sort().reverse();
}

function hasRoomInMemory(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= MEMORY_FREE_BYTES_MIN && freemem() >= 2 * MEMORY_FREE_BYTES_MIN;
}

function banner(title: string): void {
  console.log(`\n== ${title} ==`);
}

/** Starts the database of the run, unless the environment names one. */
async function startDatabase(): Promise<TestServer | null> {
  if (process.env[DATABASE_VARIABLE] !== undefined) return null;
  const startedAt = performance.now();
  // No test takes the power away; a killed server keeps what it wrote all the same.
  const server = await startTestServer({ fsync: false, dataDir: RUN_DIRECTORY });
  process.env[DATABASE_VARIABLE] = server.url;
  console.log(`PostgreSQL for the tests: started in ${seconds(performance.now() - startedAt)}`);
  return server;
}

/** Makes the catalog of modules, and returns the modules that each file's process imports first. */
async function preparedImports(files: readonly string[]): Promise<string[]> {
  const imports = [join(SUPPORT, 'cheap-promises.ts')];
  if (files.length < CATALOG_FILES_MIN) return imports;
  const directory = join(RUN_DIRECTORY, 'modules');
  try {
    await promisify(execFile)(process.execPath, [join(SUPPORT, 'modules/record.ts'), directory]);
  } catch (error) {
    console.error(`The tests run without a catalog of modules, which takes longer: ${String(error)}`);
    return imports;
  }
  const preload = pathToFileURL(join(SUPPORT, 'modules/preload.ts'));
  preload.search = encodeURIComponent(directory);
  return [...imports, preload.href];
}

/** Makes the data directory that tests of `heddle up` copy. */
async function prepareData(files: readonly string[]): Promise<void> {
  if (files.length < CATALOG_FILES_MIN) return;
  const directory = join(RUN_DIRECTORY, 'data');
  try {
    await promisify(execFile)(process.execPath, [join(SUPPORT, 'app/data-template.ts'), directory]);
    process.env[DATA_VARIABLE] = directory;
  } catch (error) {
    console.error(`Tests of \`heddle up\` make their databases themselves, which takes longer: ${String(error)}`);
  }
}

/** Runs the files, and those that failed once more; counts what they said last. */
async function runTests(files: readonly string[], imports: readonly string[], signal: AbortSignal): Promise<Totals> {
  const results = await runAndReport(files, [CONCURRENCY, CONCURRENCY_MAX], imports, signal);
  const failed = results.filter((result) => result.failed > 0).map(({ path }) => path);
  const flaky: string[] = [];
  if (failed.length > 0 && failed.length <= RERUN_FILES_MAX && !signal.aborted) {
    banner(`once more, alone: ${failed.join(', ')}`);
    for (const again of await runAndReport(failed, [1, 1], imports, signal)) {
      results[results.findIndex(({ path }) => path === again.path)] = again;
      if (again.failed === 0) flaky.push(again.path);
    }
  }
  const total = (field: keyof Counts): number => results.reduce((sum, result) => sum + result[field], 0);
  return { passed: total('passed'), failed: total('failed'), skipped: total('skipped'), flaky };
}

/** Prints the report of node:test, file by file. */
async function runAndReport(
  files: readonly string[],
  concurrency: readonly [usual: number, max: number],
  imports: readonly string[],
  signal: AbortSignal,
): Promise<FileResult[]> {
  const results: FileResult[] = [];
  const [usual, max] = concurrency;
  const options = {
    root: ROOT,
    mark: MARK,
    concurrency: usual,
    concurrency_max: max,
    file_timeout_ms: FILE_TIMEOUT_MS,
    imports,
    signal,
  };
  const events = async function* (): AsyncGenerator {
    for await (const result of runFiles(files, options)) {
      results.push(result);
      yield* result.events;
    }
  };
  const report = Readable.from(events()).compose(spec);
  report.pipe(process.stdout, { end: false });
  await finished(report);
  printSlowest(results);
  for (const { path, problem } of results) if (problem !== null) console.log(`\n${path}: ${problem}`);
  for (const { path, left } of results)
    for (const command of left) console.log(`\n${path}: ended a process that it left behind: ${command}`);
  return results;
}

function printSlowest(results: readonly FileResult[]): void {
  console.log('\nslowest files:');
  for (const { path, duration_ms } of slowest(results, SLOWEST_SHOWN))
    console.log(`${seconds(duration_ms).padStart(9)}  ${path}`);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function summaryLine({ passed, failed, skipped, flaky }: Totals): string {
  const line = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
  return flaky.length === 0 ? line : `${line}; flaky (failed, then passed alone): ${flaky.join(', ')}`;
}

async function runTestStage(patterns: readonly string[], signal: AbortSignal): Promise<Totals> {
  banner('tests');
  const files = selectFiles(patterns);
  if (files.length === 0) {
    console.error(`No test file matches: ${patterns.join(' ')}`);
    return { passed: 0, failed: 0, skipped: 0, flaky: [] };
  }
  mkdirSync(RUN_DIRECTORY, { recursive: true, mode: 0o755 });
  process.env[DIRECTORY_VARIABLE] = RUN_DIRECTORY;
  const [database, imports] = await Promise.all([startDatabase(), preparedImports(files), prepareData(files)]);
  try {
    return await runTests(files, imports, signal);
  } finally {
    await database?.stop();
    rmSync(RUN_DIRECTORY, { recursive: true, force: true });
  }
}

/** A process that ends what this one leaves where it is killed. */
function startKeeper(): void {
  const args = [join(import.meta.dirname, 'test-keeper.ts'), MARK, RUN_DIRECTORY];
  const keeper = spawn(process.execPath, args, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  keeper.unref();
  (keeper.stdin as Writable & { unref(): void }).unref();
  // Set afterwards, so that the keeper itself does not count.
  process.env[MARK_VARIABLE] = MARK;
}

/** Aborts at the first Ctrl-C or SIGTERM; listeners end their children, and the database is stopped. */
function abortOnSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => {
      if (!controller.signal.aborted) console.error(`\n${name}: stopping the tests and their database`);
      controller.abort();
    });
  return controller.signal;
}

async function main(args: readonly string[]): Promise<number> {
  requireNode();
  const signal = abortOnSignal();
  const patterns = args.filter((arg) => !arg.startsWith('--')).map((part) => part.replace(/^\.\//, ''));
  keepCompiledCode(process.env);
  startKeeper();
  const counts = await runTestStage(patterns, signal);
  await endProcesses(MARK, 0);
  console.log(`\n${summaryLine(counts)}`);
  if (signal.aborted) return 130; // what a shell says of a process that Ctrl-C ended
  return hasPassed(counts) ? 0 : 1;
}

/** A flaky test is only named at the desk, and fails the run in CI. */
function hasPassed({ passed, failed, flaky }: Totals): boolean {
  return failed === 0 && passed > 0 && (flaky.length === 0 || process.env['CI'] === undefined);
}

process.exitCode = await main(process.argv.slice(2));
