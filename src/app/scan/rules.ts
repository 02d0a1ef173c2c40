import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { RuleText } from '../../scan/options.ts';
import { readNamed } from './known.ts';
import type { ScanRequest } from './request.ts';

/** Rules that are looked for in what is scanned: the first that there is, of each directory. */
export const RULE_FILES = ['.heddle-scan.toml', '.gitleaks.toml', 'gitleaks.toml'] as const;

/** The rules of a scan; none means those of Heddle. */
export function rulesOf(
  { rules }: ScanRequest,
  directories: readonly string[],
  notice: (text: string) => void,
): RuleText[] {
  const files = rules.files.map((path): RuleText => ({ name: path, toml: readNamed('--rules', path) }));
  if (files.length === 0 && rules.discover) {
    for (const directory of directories) {
      const path = RULE_FILES.map((name) => join(directory, name)).find((each) => existsSync(each));
      if (path === undefined) continue;
      files.push({ name: path, toml: readNamed(path, path) });
      notice(`rules: ${path} (--no-config leaves it out)`);
    }
  }
  return files;
}
