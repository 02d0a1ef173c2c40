/** `node scripts/build-rules-page.ts`: writes docs/scanning/built-in-rules.md from the rules that come with Heddle. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { parse } from 'smol-toml';

import { builtinRuleTexts } from '@heddle/scan/internal/detect/rules/builtin';
import { parseRules } from '@heddle/scan/detect/rules/parse-rules';
import type { Rule } from '@heddle/scan/detect/rules/rule';

export const RULES_PAGE = 'docs/scanning/built-in-rules.md';

interface Family {
  title: string;
  rules: readonly Rule[];
}

interface RuleCounts {
  all: number;
  verified: number;
}

/** The page, whole. */
export function renderRulesPage(): string {
  const families = builtinRuleTexts().map((text): Family => {
    const { title } = parse(text.toml);
    return { title: title as string, rules: parseRules(text).rules };
  });
  const withRules = families.filter(({ rules }) => rules.length > 0);
  const rules = withRules.flatMap((family) => family.rules);
  const providers = new Set(rules.filter(({ tags }) => tags[0] !== 'generic').map(({ tags }) => tags[1]));
  const counts = { all: rules.length, verified: rules.filter(({ verify }) => verify !== undefined).length };
  return [introduction(counts, providers.size, withRules), ...withRules.map(section)].join('\n');
}

function introduction(rules: RuleCounts, providers: number, families: readonly Family[]): string {
  return `# The rules that come with the scanner

${rules.all} rules for ${providers} services and kinds of keys, in ${families.length} families. Each finds one form of a credential: where providers document
the form of their tokens, by its prefix, length and alphabet; where a token is but a run of characters, by the name that
it is assigned to. Rules tagged \`generic\` know no provider and give way where another rule finds the same secret; most of them
[judge](confidence.md) each value.

The rules are TOML files in \`packages/scan/src/detect/rules/builtin/\`, in the format that is also read from rule files of your own;
a file of your own with \`[extend]\` and \`useDefault = true\` adds to them, changes them by \`id\`, or leaves some out with
\`disabledRules\`. The secrets of ${rules.verified} rules can be [verified](verification.md). This page is written by \`node scripts/build-rules-page.ts\`.
`;
}

function section({ title, rules }: Family): string {
  const sorted = rules.toSorted((left, right) => compare(providerOf(left), providerOf(right)));
  const rows = sorted.map((rule) => {
    return `| ${providerOf(rule)} | \`${rule.id}\` | ${verificationOf(rule)} | ${rule.description.replaceAll('|', '\\|')} |`;
  });
  return [
    '',
    `## ${title}`,
    '',
    '| Provider | Rule | Verified as | What it says |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

/** The name of its verification; empty if it has none. */
function verificationOf({ verify }: Rule): string {
  return typeof verify === 'string' ? `\`${verify}\`` : '';
}

function providerOf({ tags }: Rule): string {
  return tags[1] ?? '';
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

if (import.meta.main) writeFileSync(join(import.meta.dirname, '..', RULES_PAGE), renderRulesPage());
