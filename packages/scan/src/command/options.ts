import type { Command } from 'commander';

import { choice, optionalText, repeated, setting, toggle, type ValuesOf } from '@heddle/base/setting';
import { refused } from '@heddle/base/terminal/refusal';
import { addOptionGroup, valuesOf } from '@heddle/base/terminal/setting-options';
import {
  ARCHIVE_OPTIONS,
  LIMIT_OPTIONS,
  PATH_OPTIONS,
  RULE_OPTIONS,
  type RuleText,
  type ScanOptions,
  type SourceSpec,
} from '../options.ts';
import { parsePlatform } from '../archive/image/documents.ts';
import { pathFilter } from '../path-filter.ts';
import { proxiesOf } from '../outbound/proxies.ts';
import { VERIFY_OPTIONS, type VerifyOptions } from '../verify/options.ts';
import { REPORT_FORMATS, type ReportFormat } from '../report/report.ts';
import { BUCKET_OPTIONS } from './bucket-sources.ts';
import { FORGE_OPTIONS } from './forge-sources.ts';

const GIB = 1024 ** 3;

interface ReportFile {
  format: ReportFormat;
  path: string;
}

/** `FORMAT=FILE`, for each use of the flag. */
const REPORT_FILES = setting<readonly ReportFile[]>(
  { flag: '--report <format=file>', fallback: [], description: 'Write another report to a file; may be repeated' },
  {
    allowed: `FORMAT=FILE, such as sarif=secrets.sarif; formats: ${REPORT_FORMATS.join(', ')}`,
    parse: (given) => {
      const [, name, path = ''] = /^([^=]*)=(.+)$/s.exec(given) ?? [];
      const format = REPORT_FORMATS.find((each) => each === name);
      return format === undefined ? null : { value: [{ format, path }] };
    },
    show: (files) => files.map(({ format, path }) => `${format}=${path}`).join(' '),
  },
);

const INPUT_OPTIONS = {
  git: repeated('--git <repository>', 'Every blob of the history of a repository, once; may be repeated'),
  staged: toggle('--staged', 'Changes staged for the next commit in this repository, or in the named ones'),
  revisions: repeated('--revisions <range>', 'Limit the history to revisions, such as main..HEAD; may be repeated'),
  since: optionalText('--since <date>', 'Limit the history to commits after a date in a format of git'),
  unreachable: toggle(
    '--unreachable',
    'Add to the history what no branch or tag leads to: abandoned commits, reflogs, staged files',
  ),
  diff: optionalText(
    '--diff <file>',
    'Lines that a diff adds, such as of git diff or git log -p; - reads standard input',
  ),
  images: repeated(
    '--image <reference>',
    'Layers, configuration and history of an image in a registry, or in ./image.tar or ./layout; may be repeated',
  ),
  platform: optionalText('--platform <platform>', 'Platform of the images, such as linux/arm64; all for every one', {
    allowed: 'a platform such as linux/amd64, or all',
    check: (given) => given === 'all' || parsePlatform(given) !== null,
  }),
  filesFrom: optionalText('--files-from <file>', 'Files named in a list, one per line; - reads standard input'),
  nullSeparated: toggle('-0, --null', 'Names in that list end with NUL instead of a newline'),
  followLinks: toggle('--follow-links', 'Follow symbolic links'),
  gitObjects: toggle('--git-objects', 'Also walk the object stores of git repositories'),
  ...BUCKET_OPTIONS,
};

const RULE_FILE_OPTIONS = {
  ruleFiles: repeated('--rules <file>', 'Rules in the TOML format of gitleaks; may be repeated'),
  extendBuiltin: toggle('--extend-builtin', 'Add the built-in rules to those of --rules'),
  onlyRules: toggle('--only-rules', 'Exclude the built-in rules, even if a file of --rules extends them'),
  discover: toggle('--no-config', 'Ignore rules and lists of fingerprints in the scanned directories'),
};

const KNOWN_OPTIONS = {
  baseline: optionalText('--baseline <file>', 'Report only findings that are not in this baseline'),
  writeBaseline: optionalText('--write-baseline <file>', 'Write all findings as a baseline'),
  ignoreFiles: repeated('--ignore-file <file>', 'File of suppressed fingerprints; may be repeated'),
};

const VERDICT_OPTIONS = {
  verify: toggle('--verify', 'Ask the providers of found secrets whether they are active'),
  onlyActive: toggle('--only-active', 'Report only secrets that --verify finds to be active'),
};

const STATE_OPTIONS = {
  state: optionalText('--state <file>', 'File for the progress; the same command resumes from it'),
};

const OUTPUT_OPTIONS = {
  format: choice({
    flag: '--format <format>',
    fallback: null,
    fallbackText: 'text',
    words: REPORT_FORMATS,
    description: 'Format of the report',
  }),
  json: toggle('--json', 'Same as --format jsonl'),
  template: optionalText('--template <file>', 'Template in Liquid, for --format template or --report template=FILE'),
  output: optionalText('--output <file>', 'Write the report to this file instead of standard output'),
  reports: REPORT_FILES,
  showSecrets: toggle('--show-secrets', 'Show secrets unredacted'),
  showContext: toggle('--show-context', 'Show the lines around each secret in the text report'),
  progress: toggle('--no-progress', 'Hide progress'),
  quiet: toggle('--quiet', 'Print findings and errors only'),
  failOnIncomplete: toggle(
    '--no-fail-on-incomplete',
    'Exit with 0 instead of 3 if the only problem is an incomplete scan',
  ),
};

/** Every option of `heddle scan`, by the group of its help. */
export const SCAN_OPTION_GROUPS = {
  Input: { ...INPUT_OPTIONS, ...PATH_OPTIONS },
  'Hosted repositories': FORGE_OPTIONS,
  Rules: { ...RULE_FILE_OPTIONS, ...RULE_OPTIONS, ...KNOWN_OPTIONS },
  Verification: { ...VERDICT_OPTIONS, ...VERIFY_OPTIONS },
  Limits: { ...LIMIT_OPTIONS, ...STATE_OPTIONS },
  Archives: ARCHIVE_OPTIONS,
  Output: OUTPUT_OPTIONS,
};

/** What selects the rules, for a scan and for their list. */
export type RuleChoice = ValuesOf<typeof RULE_FILE_OPTIONS> & Pick<ScanOptions, 'enable' | 'disable'>;

/** A command line of `heddle scan`, each value already validated. */
export interface ScanRequest
  extends
    ValuesOf<typeof INPUT_OPTIONS>,
    ValuesOf<typeof FORGE_OPTIONS>,
    ValuesOf<typeof KNOWN_OPTIONS>,
    ValuesOf<typeof STATE_OPTIONS>,
    Omit<ValuesOf<typeof OUTPUT_OPTIONS>, 'format' | 'json'> {
  /** Files, directories, `-` for standard input, `s3://bucket/prefix` and other buckets. */
  readonly paths: readonly string[];
  readonly rules: RuleChoice;
  /** Findings with another verdict are counted, not reported. */
  readonly onlyActive: boolean;
  readonly scan: Omit<ScanOptions, 'sources' | 'rules'>;
  readonly format: ReportFormat;
}

export function addScanOptions(command: Command): Command {
  for (const [title, group] of Object.entries(SCAN_OPTION_GROUPS)) addOptionGroup(command, title, group);
  return command.optionsGroup('Other:');
}

/** Returns the request of a command line. */
export function requestOf(paths: readonly string[], options: object): ScanRequest {
  const output = valuesOf(OUTPUT_OPTIONS, options);
  const { verify, onlyActive } = valuesOf(VERDICT_OPTIONS, options);
  if (onlyActive && !verify) throw refused('--only-active needs --verify, which asks whether secrets are active');
  return {
    paths,
    rules: ruleChoiceOf(options),
    scan: {
      ...valuesOf(PATH_OPTIONS, options),
      ...valuesOf(RULE_OPTIONS, options),
      ...valuesOf(LIMIT_OPTIONS, options),
      archives: archivesOf(options),
      verify: verify ? verifyOptionsOf(options) : null,
    },
    onlyActive,
    ...valuesOf({ ...INPUT_OPTIONS, ...FORGE_OPTIONS, ...KNOWN_OPTIONS, ...STATE_OPTIONS }, options),
    ...output,
    format: formatOf(output),
  };
}

/** Layers hold whole systems: for images, the limits of their size are higher unless they are given. */
const IMAGE_LIMITS = { entriesMax: 1_000_000, archiveBytesMax: 32 * GIB, rootBytesMax: 64 * GIB };

function archivesOf(options: object): ScanOptions['archives'] {
  const { images } = valuesOf({ images: INPUT_OPTIONS.images }, options);
  const given = valuesOf(ARCHIVE_OPTIONS, options);
  if (images.length === 0) return given;
  const isGiven = (key: keyof typeof IMAGE_LIMITS): boolean => ARCHIVE_OPTIONS[key].name in options;
  const raised = Object.entries(IMAGE_LIMITS).filter(([key]) => !isGiven(key as keyof typeof IMAGE_LIMITS));
  return { ...given, ...Object.fromEntries(raised) };
}

function verifyOptionsOf(options: object): VerifyOptions {
  const environment = proxiesOf(process.env);
  if (environment === null)
    throw refused('HTTPS_PROXY is not an http or https address; set --verify-proxy to one, or unset it');
  return { ...valuesOf(VERIFY_OPTIONS, options), environment };
}

export function ruleChoiceOf(options: object): RuleChoice {
  return { ...valuesOf(RULE_FILE_OPTIONS, options), ...valuesOf(RULE_OPTIONS, options) };
}

function formatOf({ format, json, template, reports }: ValuesOf<typeof OUTPUT_OPTIONS>): ReportFormat {
  const isUsed = format === 'template' || reports.some((each) => each.format === 'template');
  if (isUsed && template === null) throw refused('the format template needs --template FILE');
  if (!json) return format ?? (template !== null && !isUsed ? 'template' : 'text');
  if (format === null || format === 'jsonl') return 'jsonl';
  throw refused(`--json and --format ${format} contradict each other; use one of them`);
}

/** Returns the options of the scan itself. */
export function optionsOf(
  { scan }: ScanRequest,
  parts: { sources: readonly SourceSpec[]; rules: readonly RuleText[] },
): ScanOptions {
  const { frontierCapacity, archives, exclude, include } = scan;
  if (frontierCapacity <= archives.depthMax) {
    throw refused(
      `--frontier ${frontierCapacity}: must be larger than --archive-depth (${archives.depthMax}), so that nested archives can be read`,
    );
  }
  for (const glob of exclude) refuseBadGlob('--exclude', glob);
  for (const glob of include) refuseBadGlob('--include', glob);
  return { ...parts, ...scan };
}

function refuseBadGlob(flag: string, glob: string): void {
  const open = glob.replace(/\\./g, '').replace(/\[[^\]]+\]/g, '');
  if (open.includes('[')) throw refused(`${flag} ${glob}: [ has no matching ]; write \\[ for the character itself`);
  try {
    pathFilter({ include: [glob], exclude: [] });
  } catch (error) {
    throw refused(`${flag} ${glob}: is not a valid glob: ${(error as Error).message}`, error);
  }
}
