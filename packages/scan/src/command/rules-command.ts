import type { Command } from 'commander';

import { systemClock } from '@heddle/base/clock';
import type { ListedRule, RulesVerdict } from './rule-listing.ts';
import type { RuleChoice } from './rules.ts';
import { Output } from '@heddle/base/terminal/output';
import { writeTable } from '@heddle/base/terminal/table';
import { count, printable } from '@heddle/base/terminal/text';

interface RulesFlags {
  rules?: string[];
  extendBuiltin?: boolean;
  onlyRules?: boolean;
  enable?: string[];
  disable?: string[];
  json?: boolean;
  quiet?: boolean;
}

/** `heddle scan rules`: lists the rules. The flags of `heddle scan` select among them. */
export function registerScanRules(scan: Command): void {
  const rules = scan
    .command('rules')
    .description('List the rules; --rules, --enable and --disable select as for a scan')
    .helpCommand(false)
    .option('--json', 'Print one JSON document')
    .action(async (_own: object, self: Command) => {
      const flags = self.optsWithGlobals<RulesFlags>();
      const { listRules } = await import('./rule-listing.ts');
      const output = outputOf(flags);
      const listed = listRules(choiceOf(flags), (text) => output.notice(text));
      output.result(listed, () => writeRules(output, listed));
    });
  rules
    .command('test')
    .description('Check a rule file and report its faults')
    .argument('<file>', 'Rules in TOML')
    .option('--json', 'Print one JSON document')
    .addHelpText('after', '\nExit codes: 0 the file is valid, 2 it is not.')
    .action(async (file: string, _own: object, self: Command) => {
      const flags = self.optsWithGlobals<RulesFlags>();
      const { testRules } = await import('./rule-listing.ts');
      const output = outputOf(flags);
      const verdict = testRules(file);
      output.result(verdict, () => writeVerdict(output, verdict));
      process.exitCode = verdict.ok ? 0 : 2;
    });
}

function outputOf({ json }: RulesFlags): Output {
  const { stdout, stderr } = process;
  return new Output({ stdout, stderr, json: json === true, clock: systemClock });
}

function choiceOf({ rules, extendBuiltin, onlyRules, enable, disable }: RulesFlags): RuleChoice {
  return {
    files: rules ?? [],
    builtin: onlyRules === true ? 'only' : extendBuiltin === true ? 'extend' : null,
    discover: false,
    enable: enable ?? [],
    disable: disable ?? [],
  };
}

function writeRules(output: Output, rules: readonly ListedRule[]): void {
  writeTable<ListedRule>(
    output,
    [
      { header: 'RULE', value: ({ id }) => id },
      { header: 'DESCRIPTION', value: ({ description }) => description, flexible: true },
      { header: 'TAGS', value: ({ tags }) => tags.join(', ') || '-', flexible: true },
    ],
    rules,
  );
  output.line(`\n${count(rules.length, 'rule')}`);
}

function writeVerdict(output: Output, { file, ok, rules, faults, warnings }: RulesVerdict): void {
  for (const fault of faults) output.line(`${output.paint('red', '✖')} ${lines(fault)}`);
  for (const warning of warnings) output.line(`${output.paint('yellow', '!')} ${lines(warning)}`);
  if (ok) output.line(`${output.paint('green', '✔')} ${printable(file)}: ${count(rules, 'rule')}, no faults`);
}

/** Faults of TOML include the surrounding lines. */
function lines(text: string): string {
  return text.split('\n').map(printable).join('\n  ');
}
