import { InvalidArgumentError, Option, type Command } from 'commander';

import { SCAN_DEFAULTS } from './options.ts';
import { REPORT_FORMATS, type ReportFormat, type ScanRequest } from './request.ts';
import { amount, byteSize, endpoint, milliseconds, nonEmpty, repeated } from '@heddle/base/terminal/flag-values';

const KIB = 1024;
const MIB = KIB * KIB;
const PIB = 1024 ** 5;

const { budgets: BUDGETS } = SCAN_DEFAULTS.archives;

/** The values of the options as commander returns them. */
export interface ScanFlags {
  followLinks?: boolean;
  gitObjects?: boolean;
  git?: string[];
  revisions?: string[];
  since?: string;
  staged?: boolean;
  s3Endpoint?: string;
  s3Region?: string;
  s3PathStyle?: boolean;
  filesFrom?: string;
  null?: boolean;
  rules?: string[];
  extendBuiltin?: boolean;
  onlyRules?: boolean;
  config: boolean;
  enable?: string[];
  disable?: string[];
  exclude?: string[];
  include?: string[];
  maxObjectSize: number;
  threads: number;
  frontier: number;
  chunkSize: number;
  archives: boolean;
  archivePolicy: ScanRequest['archives']['policy'];
  archiveDepth: number;
  archiveEntries: number;
  archiveEntryBytes: number;
  archiveBytes: number;
  archiveRootBytes: number;
  archiveRatio: number;
  decodeDepth: number;
  inlineIgnores: boolean;
  ruleTimeout: number;
  baseline?: string;
  writeBaseline?: string;
  ignoreFile?: string[];
  state?: string;
  format?: ReportFormat;
  json?: boolean;
  output?: string;
  report?: { format: ReportFormat; path: string }[];
  showSecrets?: boolean;
  progress: boolean;
  quiet?: boolean;
  failOnIncomplete: boolean;
}

/** Adds every option of `heddle scan`. */
export function addScanOptions(command: Command): Command {
  addSourceOptions(command);
  addRuleOptions(command);
  addBoundOptions(command);
  addArchiveOptions(command);
  return addReportOptions(command);
}

function addSourceOptions(command: Command): void {
  command
    .optionsGroup('Input:')
    .option('--git <repository>', 'Every blob of the history of a repository, once; may be repeated', repeated)
    .option('--staged', 'Changes staged for the next commit in this repository, or in the named ones')
    .option('--revisions <range>', 'Limit the history to revisions, such as main..HEAD; may be repeated', repeated)
    .option('--since <date>', 'Limit the history to commits after a date in a format of git', nonEmpty)
    .option('--files-from <file>', 'Files named in a list, one per line; - reads standard input', nonEmpty)
    .option('-0, --null', 'Names in that list end with NUL instead of a newline')
    .option('--exclude <glob>', 'Exclude matching paths; may be repeated', repeated)
    .option('--include <glob>', 'Only matching paths; may be repeated', repeated)
    .option('--follow-links', 'Follow symbolic links')
    .option('--git-objects', 'Also walk the object stores of git repositories')
    .option('--s3-endpoint <url>', 'URL of the S3 API, for services other than AWS', endpoint)
    .option('--s3-region <name>', 'Region of the buckets', nonEmpty)
    .option('--s3-path-style', 'Put the bucket in the path of requests instead of the host name');
}

function addRuleOptions(command: Command): void {
  command
    .optionsGroup('Rules:')
    .option('--rules <file>', 'Rules in the TOML format of gitleaks; may be repeated', repeated)
    .addOption(new Option('--extend-builtin', 'Add the built-in rules to those of --rules').conflicts('onlyRules'))
    .option('--only-rules', 'Exclude the built-in rules, even if a file of --rules extends them')
    .option('--no-config', 'Ignore rules and lists of fingerprints in the scanned directories')
    .option('--enable <rule>', 'Only this rule; may be repeated', repeated)
    .option('--disable <rule>', 'Disable this rule; may be repeated', repeated)
    .option(
      '--decode-depth <count>',
      'Maximum depth of nested encodings',
      amount(0, 8),
      SCAN_DEFAULTS.detection.decode_depth,
    )
    .option('--no-inline-ignores', 'Ignore inline suppressions')
    .option('--baseline <file>', 'Report only findings that are not in this baseline', nonEmpty)
    .option('--write-baseline <file>', 'Write all findings as a baseline', nonEmpty)
    .option('--ignore-file <file>', 'File of suppressed fingerprints; may be repeated', repeated);
}

function addBoundOptions(command: Command): void {
  command
    .optionsGroup('Limits:')
    .option('--threads <count>', 'Number of scanning threads', amount(1, 256), SCAN_DEFAULTS.threads)
    .option(
      '--max-object-size <size>',
      'Maximum size of an object; larger ones are skipped; 0 for no limit',
      byteSize(0, PIB),
      SCAN_DEFAULTS.object_bytes_max,
    )
    .option('--chunk-size <size>', 'Bytes read at once', byteSize(4 * KIB, 2 * MIB), SCAN_DEFAULTS.chunk_bytes)
    .option('--frontier <count>', 'Concurrent objects', amount(1, 1_000_000), SCAN_DEFAULTS.frontier_capacity)
    .option(
      '--rule-timeout <time>',
      'Timeout of one rule on one object',
      milliseconds(1, 3_600_000),
      SCAN_DEFAULTS.detection.rule_timeout_ms,
    )
    .option('--state <file>', 'File for the progress; the same command resumes from it', nonEmpty);
}

function addArchiveOptions(command: Command): void {
  const size = byteSize(1, PIB);
  command
    .optionsGroup('Archives:')
    .option('--no-archives', 'Scan archives without unpacking them')
    .addOption(
      new Option('--archive-policy <policy>', 'Handling of archives that cannot be read completely')
        .choices(['skip', 'partial', 'fail-run'])
        .default('partial'),
    )
    .option('--archive-depth <count>', 'Maximum nesting of archives', amount(1, 64), BUDGETS.depth_max)
    .option('--archive-entries <count>', 'Maximum entries of an archive', amount(1, 100_000_000), BUDGETS.entries_max)
    .option('--archive-entry-bytes <size>', 'Maximum unpacked bytes of an entry', size, BUDGETS.entry_bytes_max)
    .option('--archive-bytes <size>', 'Maximum unpacked bytes of an archive', size, BUDGETS.archive_bytes_max)
    .option(
      '--archive-root-bytes <size>',
      'Maximum unpacked bytes of a file with everything in it',
      size,
      BUDGETS.root_bytes_max,
    )
    .option(
      '--archive-ratio <number>',
      'Maximum ratio of unpacked to packed bytes',
      amount(1, 1_000_000),
      BUDGETS.ratio_max,
    );
}

function addReportOptions(command: Command): Command {
  return command
    .optionsGroup('Output:')
    .addOption(new Option('--format <format>', 'Format of the report (default: "text")').choices(REPORT_FORMATS))
    .option('--json', 'Same as --format jsonl')
    .option('--output <file>', 'Write the report to this file instead of standard output', nonEmpty)
    .option('--report <format=file>', 'Write another report to a file; may be repeated', reportTo)
    .option('--show-secrets', 'Show secrets unredacted')
    .option('--no-progress', 'Hide progress')
    .option('--quiet', 'Print findings and errors only')
    .option('--no-fail-on-incomplete', 'Exit with 0 instead of 3 if the only problem is an incomplete scan')
    .optionsGroup('Other:');
}

/** Converts the flags and arguments to a request. */
export function requestOf(paths: readonly string[], flags: ScanFlags, format: ReportFormat): ScanRequest {
  const builtin = flags.onlyRules === true ? 'only' : flags.extendBuiltin === true ? 'extend' : null;
  return {
    paths,
    followLinks: flags.followLinks === true,
    gitObjects: flags.gitObjects === true,
    git: flags.git ?? [],
    staged: flags.staged === true,
    revisions: flags.revisions ?? [],
    since: flags.since,
    s3: { endpoint: flags.s3Endpoint, region: flags.s3Region, pathStyle: flags.s3PathStyle === true },
    filesFrom: flags.filesFrom,
    nullSeparated: flags.null === true,
    rules: {
      files: flags.rules ?? [],
      builtin,
      discover: flags.config,
      enable: flags.enable ?? [],
      disable: flags.disable ?? [],
    },
    exclude: flags.exclude ?? [],
    include: flags.include ?? [],
    objectBytesMax: flags.maxObjectSize,
    threads: flags.threads,
    frontier: flags.frontier,
    chunkBytes: flags.chunkSize,
    archives: {
      enabled: flags.archives,
      policy: flags.archivePolicy,
      depth: flags.archiveDepth,
      entries: flags.archiveEntries,
      entryBytes: flags.archiveEntryBytes,
      archiveBytes: flags.archiveBytes,
      rootBytes: flags.archiveRootBytes,
      ratio: flags.archiveRatio,
    },
    decodeDepth: flags.decodeDepth,
    inlineIgnores: flags.inlineIgnores,
    ruleTimeoutMs: flags.ruleTimeout,
    baseline: flags.baseline,
    writeBaseline: flags.writeBaseline,
    ignoreFiles: flags.ignoreFile ?? [],
    state: flags.state,
    format,
    output: flags.output,
    reports: flags.report ?? [],
    showSecrets: flags.showSecrets === true,
    quiet: flags.quiet === true,
    failOnIncomplete: flags.failOnIncomplete,
  };
}

/** Parses `FORMAT=FILE`, adding to the previous values. */
export function reportTo(
  text: string,
  before: readonly { format: ReportFormat; path: string }[] = [],
): { format: ReportFormat; path: string }[] {
  const at = text.indexOf('=');
  const format = REPORT_FORMATS.find((each) => each === text.slice(0, at));
  const path = text.slice(at + 1);
  if (at < 1 || format === undefined || path === '') {
    throw new InvalidArgumentError(
      `It must be FORMAT=FILE, such as sarif=secrets.sarif; formats: ${REPORT_FORMATS.join(', ')}.`,
    );
  }
  return [...before, { format, path }];
}
