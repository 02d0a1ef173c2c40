import { Option, type Command } from 'commander';

import { SCAN_DEFAULTS } from '../../app/scan/options.ts';
import { REPORT_FORMATS, type ReportFormat, type ScanRequest } from '../../app/scan/request.ts';
import { amount, byteSize, endpoint, milliseconds, nonEmpty, repeated, reportTo } from './scan-values.ts';

const KIB = 1024;
const MIB = KIB * KIB;
const PIB = 1024 ** 5;

const { budgets: BUDGETS } = SCAN_DEFAULTS.archives;

/** The values of the options as commander gives them. */
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
    .optionsGroup('What is scanned:')
    .option('--git <repository>', 'every blob of its history once; may be repeated', repeated)
    .option('--staged', 'what is staged for the next commit in the repository here, or in those that are named')
    .option('--revisions <range>', 'of that history only this, such as main..HEAD; may be repeated', repeated)
    .option('--since <date>', 'of that history only commits after this, as git reads dates', nonEmpty)
    .option('--files-from <file>', 'the files that this list names, one a line; - reads standard input', nonEmpty)
    .option('-0, --null', 'names in that list end with NUL instead of a newline')
    .option('--exclude <glob>', 'leave out paths that match; may be repeated', repeated)
    .option('--include <glob>', 'only paths that match; may be repeated', repeated)
    .option('--follow-links', 'follow symbolic links')
    .option('--git-objects', 'walk the object stores of git repositories, too')
    .option('--s3-endpoint <url>', 'where the S3 API is, for services other than AWS', endpoint)
    .option('--s3-region <name>', 'region of the buckets', nonEmpty)
    .option('--s3-path-style', 'the bucket goes into the path of requests, not into the host name');
}

function addRuleOptions(command: Command): void {
  command
    .optionsGroup('What is looked for:')
    .option('--rules <file>', 'rules in TOML, as gitleaks has them; may be repeated', repeated)
    .addOption(new Option('--extend-builtin', "add Heddle's own rules to those of --rules").conflicts('onlyRules'))
    .option('--only-rules', "leave Heddle's own rules out, even where a file of --rules extends them")
    .option('--no-config', 'look for no rules and no lists of fingerprints in what is scanned')
    .option('--enable <rule>', 'only this rule; may be repeated', repeated)
    .option('--disable <rule>', 'not this rule; may be repeated', repeated)
    .option(
      '--decode-depth <count>',
      'how often decoded text is decoded again',
      amount(0, 8),
      SCAN_DEFAULTS.detection.decode_depth,
    )
    .option('--no-inline-ignores', 'comments that exempt their line count for nothing')
    .option('--baseline <file>', 'findings that are known are not reported', nonEmpty)
    .option('--write-baseline <file>', 'write all findings as a baseline', nonEmpty)
    .option('--ignore-file <file>', 'fingerprints that are exempt; may be repeated', repeated);
}

function addBoundOptions(command: Command): void {
  command
    .optionsGroup('How it is scanned:')
    .option('--threads <count>', 'threads that scan', amount(1, 256), SCAN_DEFAULTS.threads)
    .option(
      '--max-object-size <size>',
      'larger objects are not scanned; 0 is no bound',
      byteSize(0, PIB),
      SCAN_DEFAULTS.object_bytes_max,
    )
    .option('--chunk-size <size>', 'bytes that are read at once', byteSize(4 * KIB, 2 * MIB), SCAN_DEFAULTS.chunk_bytes)
    .option('--frontier <count>', 'objects under way at once', amount(1, 1_000_000), SCAN_DEFAULTS.frontier_capacity)
    .option(
      '--rule-timeout <time>',
      'a rule that takes longer on one object is stopped',
      milliseconds(1, 3_600_000),
      SCAN_DEFAULTS.detection.rule_timeout_ms,
    )
    .option('--state <file>', 'keep the progress here; the same command goes on from it', nonEmpty);
}

function addArchiveOptions(command: Command): void {
  const size = byteSize(1, PIB);
  command
    .optionsGroup('Archives:')
    .option('--no-archives', 'scan archives as they are, without unpacking them')
    .addOption(
      new Option('--archive-policy <policy>', 'what happens where an archive is not read whole')
        .choices(['skip', 'partial', 'fail-run'])
        .default('partial'),
    )
    .option('--archive-depth <count>', 'archives within archives', amount(1, 64), BUDGETS.depth_max)
    .option('--archive-entries <count>', 'entries of an archive', amount(1, 100_000_000), BUDGETS.entries_max)
    .option('--archive-entry-bytes <size>', 'unpacked bytes of an entry', size, BUDGETS.entry_bytes_max)
    .option('--archive-bytes <size>', 'unpacked bytes of an archive', size, BUDGETS.archive_bytes_max)
    .option('--archive-root-bytes <size>', 'unpacked bytes of a file with all within', size, BUDGETS.root_bytes_max)
    .option('--archive-ratio <number>', 'unpacked to packed bytes', amount(1, 1_000_000), BUDGETS.ratio_max);
}

function addReportOptions(command: Command): Command {
  return command
    .optionsGroup('What is reported:')
    .addOption(new Option('--format <format>', 'how (default: "text")').choices(REPORT_FORMATS))
    .option('--json', 'the same as --format jsonl')
    .option('--output <file>', 'write the report to this file instead of standard output', nonEmpty)
    .option('--report <format=file>', 'write another report to a file; may be repeated', reportTo)
    .option('--show-secrets', 'show secrets in clear')
    .option('--no-progress', 'show no progress')
    .option('--quiet', 'findings and errors only')
    .option('--no-fail-on-incomplete', 'exit with 0, not 3, where all that is wrong is that parts were not scanned')
    .optionsGroup('Other:');
}

/** What the flags and arguments ask for. */
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
