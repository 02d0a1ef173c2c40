import { availableParallelism } from 'node:os';

import { pathFilter } from '../path-filter.ts';
import { SCAN_DEFAULTS as DEFAULTS, type RuleText, type ScanOptions, type SourceSpec } from '../options.ts';
import { refused } from '@heddle/base/terminal/refusal';
import type { ScanRequest } from './request.ts';

const THREADS_DEFAULT_MAX = 8;

/** Values that apply if the command line does not set them. */
export const SCAN_DEFAULTS: Omit<ScanOptions, 'sources'> = {
  ...DEFAULTS,
  threads: Math.min(THREADS_DEFAULT_MAX, availableParallelism()),
};

export interface ScanParts {
  sources: readonly SourceSpec[];
  rules: readonly RuleText[];
}

/** Returns the options of the scan itself. */
export function optionsOf(request: ScanRequest, { sources, rules }: ScanParts): ScanOptions {
  const { archives, rules: chosen } = request;
  if (request.frontier <= archives.depth) {
    throw refused(
      `--frontier ${request.frontier}: must be larger than --archive-depth (${archives.depth}), so that nested archives can be read`,
    );
  }
  for (const glob of request.exclude) refuseBadGlob('--exclude', glob);
  for (const glob of request.include) refuseBadGlob('--include', glob);
  return {
    sources,
    detection: {
      rules,
      ...(chosen.enable.length === 0 ? {} : { enable: chosen.enable }),
      ...(chosen.disable.length === 0 ? {} : { disable: chosen.disable }),
      decode_depth: request.decodeDepth,
      inline_ignores: request.inlineIgnores,
      rule_timeout_ms: request.ruleTimeoutMs,
    },
    archives: {
      enabled: archives.enabled,
      policy: archives.policy,
      budgets: {
        ...DEFAULTS.archives.budgets,
        depth_max: archives.depth,
        entries_max: archives.entries,
        entry_bytes_max: archives.entryBytes,
        archive_bytes_max: archives.archiveBytes,
        root_bytes_max: archives.rootBytes,
        ratio_max: archives.ratio,
      },
    },
    exclude: request.exclude,
    include: request.include,
    object_bytes_max: request.objectBytesMax,
    threads: request.threads,
    frontier_capacity: request.frontier,
    chunk_bytes: request.chunkBytes,
  };
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
