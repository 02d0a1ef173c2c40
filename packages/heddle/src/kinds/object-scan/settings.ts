import type { Members } from '@heddle/base/parse/members';
import { quoted } from '@heddle/base/parse/path';
import type { Range, Setting, ValuesOf } from '@heddle/base/setting';
import { ARCHIVE_OPTIONS, LIMIT_OPTIONS, RULE_OPTIONS, SCAN_DEFAULTS, type ScanOptions } from '@heddle/scan/options';
import { objectMember, objectsMember, textsMember } from '../definition/input-schema.ts';

const PATTERNS_MAX = 1000;
const PATTERN_CHARACTERS_MAX = 1000;
const NAME_ASTERISKS_MAX = 3;
const ASTERISKS_MAX = 8;
const RULE_SETS_MAX = 16;
const RULES_MAX = 10_000;
const TOML_CHARACTERS_MAX = 64 * 1024;
const PATH_CHARACTERS_MAX = 4096;
/** Fewer than in a standalone scan: a process may run several such tasks besides other work. */
const FRONTIER_CAPACITY = 256;

/** A rule set in the input itself, or in a file on the scanning machine. */
export type RuleSource = { name: string; toml: string } | { path: string };

/** The options of a scan, except its sources and those the machine decides. */
export interface ScanSettings extends Omit<ScanOptions, 'sources' | 'threads' | 'rules' | 'verify'> {
  rules: RuleSource[];
  /** Whether secrets are verified; the machine decides how. */
  verify: boolean;
  /** Problem codes that do not make a scan incomplete. */
  accept: string[];
}

const { objectBytesMax, ruleTimeoutMs, contextLines } = LIMIT_OPTIONS;
const { confidence, decodeDepth, inlineIgnores } = RULE_OPTIONS;
const OPTIONS = { confidence, decodeDepth, inlineIgnores, ruleTimeoutMs, objectBytesMax, contextLines };
const LISTS = ['rules', 'enable', 'disable', 'archives', 'exclude', 'include', 'accept', 'verify'];

/** Reads the member `options` of scans and of generators. */
export function readScanSettings(options: Members | null): ScanSettings {
  options?.refuseOthers([...LISTS, ...membersOf(OPTIONS)]);
  const archives = options === null ? null : objectMember(options, 'archives');
  archives?.refuseOthers(membersOf(ARCHIVE_OPTIONS));
  const texts = (name: string, max: number, maxChars: number): string[] =>
    (options === null ? undefined : textsMember(options, name, { max, maxChars })) ?? [];
  return {
    ...readOptions(options, OPTIONS),
    rules: options === null ? [] : readRules(options),
    enable: texts('enable', RULES_MAX, 200),
    disable: texts('disable', RULES_MAX, 200),
    archives: readOptions(archives, ARCHIVE_OPTIONS),
    exclude: options === null ? [] : readGlobs(options, 'exclude'),
    include: options === null ? [] : readGlobs(options, 'include'),
    accept: texts('accept', 50, 50),
    frontierCapacity: FRONTIER_CAPACITY,
    chunkBytes: SCAN_DEFAULTS.chunkBytes,
    verify: options?.boolean('verify') ?? false,
  };
}

type OptionGroup = Readonly<Record<string, Setting<boolean> | Setting<string> | (Setting<number> & Range)>>;

const memberOf = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function membersOf(group: OptionGroup): string[] {
  return Object.keys(group).map(memberOf);
}

/** Reads switches, words and numbers; each member is the key of its option in snake case. */
function readOptions<Group extends OptionGroup>(members: Members | null, group: Group): ValuesOf<Group> {
  const values = Object.entries(group).map(([key, option]) => {
    return [key, (members === null ? null : readOption(members, memberOf(key), option)) ?? option.fallback] as const;
  });
  return Object.fromEntries(values) as ValuesOf<Group>;
}

function readOption(members: Members, name: string, option: OptionGroup[string]): unknown {
  if ('min' in option) return members.integer(name, option.min, option.max);
  return option.words === undefined ? members.boolean(name) : members.oneOf(name, option.words);
}

/** Limits asterisks in globs: matching backtracks, and a large number of them could take forever on a crafted name. */
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
