import type { Members } from '@heddle/base/parse/members';
import { quoted } from '@heddle/base/parse/path';
import {
  ARCHIVE_BUDGETS_DEFAULT,
  type ArchiveBudgets,
  type ArchiveOptions,
  type ScanOptions,
  SCAN_DEFAULTS,
} from '@heddle/scan/options';
import { objectMember, objectsMember, textsMember } from '../definition/input-schema.ts';

const PATTERNS_MAX = 1000;
const PATTERN_CHARACTERS_MAX = 1000;
const NAME_ASTERISKS_MAX = 3;
const ASTERISKS_MAX = 8;
const RULE_SETS_MAX = 16;
const RULES_MAX = 10_000;
const TOML_CHARACTERS_MAX = 64 * 1024;
const PATH_CHARACTERS_MAX = 4096;
const BYTES_MAX = Number.MAX_SAFE_INTEGER;
const DECODE_DEPTH_MAX = 10;
const RULE_TIMEOUT_MS_MAX = 600_000;
/** Fewer than in a standalone scan: a process may run several such tasks besides other work. */
const FRONTIER_CAPACITY = 256;

/** A rule set in the input itself, or in a file on the scanning machine. */
export type RuleSource = { name: string; toml: string } | { path: string };

/** The options of a scan, except its sources and those the machine decides. */
export interface ScanSettings extends Omit<ScanOptions, 'sources' | 'threads' | 'detection'> {
  detection: Omit<ScanOptions['detection'], 'rules'>;
  rules: RuleSource[];
  /** Problem codes that do not make a scan incomplete. */
  accept: string[];
}

const ARCHIVE_POLICIES = ['skip', 'partial', 'fail-run'] as const;
const DETECTION = SCAN_DEFAULTS.detection;
const BUDGETS = Object.keys(ARCHIVE_BUDGETS_DEFAULT) as (keyof ArchiveBudgets)[];

const MEMBERS = [
  'rules',
  'enable',
  'disable',
  'decode_depth',
  'inline_ignores',
  'rule_timeout_ms',
  'archives',
  'exclude',
  'include',
  'object_bytes_max',
  'accept',
];

/** Reads the member `options` of scans and of generators. */
export function readScanSettings(options: Members | null): ScanSettings {
  options?.refuseOthers(MEMBERS);
  const ids = { max: RULES_MAX, maxChars: 200 };
  const enable = options === null ? undefined : textsMember(options, 'enable', ids);
  const disable = options === null ? undefined : textsMember(options, 'disable', ids);
  return {
    rules: options === null ? [] : readRules(options),
    detection: {
      ...(enable === undefined ? {} : { enable }),
      ...(disable === undefined ? {} : { disable }),
      decode_depth: options?.integer('decode_depth', 0, DECODE_DEPTH_MAX) ?? DETECTION.decode_depth,
      inline_ignores: options?.boolean('inline_ignores') ?? DETECTION.inline_ignores,
      rule_timeout_ms: options?.integer('rule_timeout_ms', 1, RULE_TIMEOUT_MS_MAX) ?? DETECTION.rule_timeout_ms,
    },
    archives: readArchives(options === null ? null : objectMember(options, 'archives')),
    exclude: options === null ? [] : readGlobs(options, 'exclude'),
    include: options === null ? [] : readGlobs(options, 'include'),
    object_bytes_max: options?.integer('object_bytes_max', 0, BYTES_MAX) ?? SCAN_DEFAULTS.object_bytes_max,
    accept: (options === null ? undefined : textsMember(options, 'accept', { max: 50, maxChars: 50 })) ?? [],
    frontier_capacity: FRONTIER_CAPACITY,
    chunk_bytes: SCAN_DEFAULTS.chunk_bytes,
  };
}

/** Limits asterisks in globs: matching backtracks, so many of them could take forever on a crafted name. */
function readGlobs(options: Members, name: string): string[] {
  const globs = textsMember(options, name, { max: PATTERNS_MAX, maxChars: PATTERN_CHARACTERS_MAX }) ?? [];
  for (const glob of globs) {
    const worst = Math.max(...glob.split('/').map((part) => part.match(/\*+/g)?.length ?? 0));
    const all = glob.match(/\*+/g)?.length ?? 0;
    if (worst <= NAME_ASTERISKS_MAX && all <= ASTERISKS_MAX) continue;
    options.fault(
      name,
      `may have ${NAME_ASTERISKS_MAX} asterisks in a name and ${ASTERISKS_MAX} in all: ${quoted(glob)}`,
    );
  }
  return globs;
}

function readRules(options: Members): RuleSource[] {
  return objectsMember(options, 'rules', RULE_SETS_MAX).flatMap((rules): RuleSource[] => {
    rules.refuseOthers(['name', 'toml', 'path']);
    const path = rules.text('path', PATH_CHARACTERS_MAX);
    const toml = rules.text('toml', TOML_CHARACTERS_MAX);
    if ((path === null) === (toml === null)) {
      rules.fault(path === null ? 'toml' : 'path', 'exactly one of `toml` and `path` is required');
      return [];
    }
    return path === null ? [{ name: rules.text('name', 200) ?? 'the rules of the task', toml: toml! }] : [{ path }];
  });
}

function readArchives(archives: Members | null): ArchiveOptions {
  archives?.refuseOthers(['enabled', 'policy', ...BUDGETS]);
  const budgets = { ...ARCHIVE_BUDGETS_DEFAULT };
  for (const name of BUDGETS) budgets[name] = archives?.integer(name, 0, BYTES_MAX) ?? budgets[name];
  if (budgets.depth_max > 100) archives?.fault('depth_max', 'must be 100 at most');
  return {
    enabled: archives?.boolean('enabled') ?? true,
    policy: archives?.oneOf('policy', ARCHIVE_POLICIES) ?? 'partial',
    budgets,
  };
}
