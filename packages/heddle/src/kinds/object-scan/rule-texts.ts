import { readFile, stat } from 'node:fs/promises';

import type { RuleText } from '@heddle/scan/options';
import type { ScanRoots } from './roots.ts';
import type { RuleSource } from './settings.ts';

const RULE_FILE_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Loads the rule sets of a task; files are read on this machine, within the permitted roots. The author of a task must
 * not choose where secrets of the machine are sent.
 */
export function ruleTextsOf(sources: readonly RuleSource[], roots: ScanRoots): Promise<RuleText[]> {
  return Promise.all(
    sources.map(async (source) => {
      if ('toml' in source) return { ...source, untrusted: true };
      roots.requirePath(source.path);
      const { size } = await stat(source.path);
      if (size > RULE_FILE_BYTES_MAX) throw new Error(`${source.path} is too large for a rule set: ${size} bytes`);
      return { name: source.path, toml: await readFile(source.path, 'utf8'), untrusted: true };
    }),
  );
}
