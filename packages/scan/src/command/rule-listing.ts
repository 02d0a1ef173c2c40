import { CommandFailure } from '@heddle/base/terminal/failure';
import { HeddleError } from '@heddle/base/errors';
import { loadRules } from '../detect/rules/load-rules.ts';
import { parseRules } from '../detect/rules/parse-rules.ts';
import type { RuleText } from '../options.ts';
import { patternFaults } from './pattern-faults.ts';
import type { RuleChoice } from './options.ts';
import { ruleSetOf, withExtended } from './rules.ts';

/** A rule as `heddle scan rules` shows it. */
export interface ListedRule {
  id: string;
  description: string;
  tags: readonly string[];
  keywords: readonly string[];
  entropy: number;
  regex: string | null;
  path: string | null;
  source: string;
  /** The name of its verification. */
  verification: string | null;
}

/** Returns the rules that a scan with this choice would use. */
export function listRules(choice: RuleChoice, notice: (text: string) => void): ListedRule[] {
  const { rules } = ruleSetOf(choice, [], notice);
  return rules
    .filter(({ skip_report }) => !skip_report)
    .map(({ id, description, tags, keywords, entropy, regex = null, path = null, source, verify }) => {
      const verification = typeof verify === 'object' ? verify.name : null;
      return { id, description, tags, keywords, entropy, regex, path, source, verification };
    });
}

/** The verdict on a rule file. */
export interface RulesVerdict {
  file: string;
  ok: boolean;
  /** Rules of the file itself. */
  rules: number;
  /** One sentence each, with the place: rule, field, and the position in a pattern. */
  faults: readonly string[];
  warnings: readonly string[];
}

/** Checks a rule file: its form, every pattern in it, and its compatibility with the rules it extends. */
export function testRules(path: string): RulesVerdict {
  try {
    const texts = withExtended(path, path);
    const text = texts[texts.length - 1]!;
    const own = parseRules(text);
    const faults = patternFaults(own);
    const { fault, warnings } = merged(texts);
    const all = fault === null ? faults : [...faults, fault];
    return { file: path, ok: all.length === 0, rules: own.rules.length, faults: all, warnings };
  } catch (error) {
    if (!(error instanceof HeddleError || error instanceof CommandFailure)) throw error;
    return { file: path, ok: false, rules: 0, faults: [error.message], warnings: [] };
  }
}

function merged(texts: readonly RuleText[]): { fault: string | null; warnings: readonly string[] } {
  try {
    return { fault: null, warnings: loadRules({ rules: texts }).warnings };
  } catch (error) {
    if (error instanceof HeddleError) return { fault: error.message, warnings: [] };
    throw error;
  }
}
