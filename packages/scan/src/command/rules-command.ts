import type { Command } from 'commander';

import { systemClock } from '@heddle/base/clock';
import { toggle } from '@heddle/base/setting';
import { addOptionGroup, valuesOf } from '@heddle/base/terminal/setting-options';
import type { ListedRule, RulesVerdict } from './rule-listing.ts';
import { ruleChoiceOf } from './options.ts';
import { Output } from '@heddle/base/terminal/output';
import { writeTable } from '@heddle/base/terminal/table';
import { count, printable } from '@heddle/base/terminal/text';

const OPTIONS = { json: toggle('--json', 'Print one JSON document') };

/** `heddle scan rules`: lists the rules. The flags of `heddle scan` select among them. */
export function registerScanRules(scan: Command): void {
  const rules = addOptionGroup(scan.command('rules'), 'Options', OPTIONS)
    .description('List the rules; --rules, --enable and --disable select as for a scan')
    .helpCommand(false)
    .action(async (_own: object, self: Command) => {
      const options = self.optsWithGlobals();
      const { listRules } = await import('./rule-listing.ts');
      const output = outputOf(options);
      const listed = listRules(ruleChoiceOf(options), (text) => output.notice(text));
      output.result(listed, () => writeRules(output, listed));
    });
  addOptionGroup(rules.command('test'), 'Options', OPTIONS)
    .description('Check a rule file and report its faults')
    .argument('<file>', 'Rules in TOML')
    .addHelpText('after', '\nExit codes: 0 the file is valid, 2 it is not.')
    .action(async (file: string, _own: object, self: Command) => {
      const { testRules } = await import('./rule-listing.ts');
      const output = outputOf(self.optsWithGlobals());
      const verdict = testRules(file);
      output.result(verdict, () => writeVerdict(output, verdict));
      process.exitCode = verdict.ok ? 0 : 2;
    });
}

function outputOf(options: object): Output {
  const { stdout, stderr } = process;
  return new Output({ stdout, stderr, ...valuesOf(OPTIONS, options), clock: systemClock });
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
