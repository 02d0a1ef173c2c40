import type { Command } from 'commander';

import type { AuditVerdict } from '../../app/remote/audit.ts';
import { EXIT } from '@heddle/base/terminal/failure';
import type { Output } from '@heddle/base/terminal/output';
import { outputOf } from '../settings-options.ts';

const HELP = `
Files of one log may be given in any order, rotated ones together with the current one:

  heddle audit verify .heddle/executor/audit/*

Exit codes: 0 every line is intact, 1 a line is not, or the line of --head is missing, 2 a file cannot be read.`;

/** `heddle audit`: needs neither an executor nor its settings. */
export function registerAuditCommand(program: Command): void {
  program
    .command('audit')
    .description('Verify the audit log of an executor')
    .command('verify')
    .description('Report whether a line was changed, removed, swapped or added, and the first such line')
    .argument('<file...>', 'Files of one audit log')
    .option('--head <hash>', 'Hash known to be in the log; it is missing from a truncated or recreated log')
    .option('--json', 'Print only JSON on standard output')
    .addHelpText('after', HELP)
    .action(async (files: string[], options: { head?: string; json?: boolean }) => {
      const { verifyFiles } = await import('../../app/remote/audit.ts');
      const verdict = await verifyFiles(files, options.head);
      const output = outputOf(options);
      output.result(verdict, () => report(output, verdict));
      if (verdict.fault !== null || verdict.anchored === false) process.exitCode = EXIT.failed;
    });
}

function report(output: Output, { fault, lines, first, last, notes, anchored }: AuditVerdict): void {
  if (fault !== null) {
    const name = fault.seq === null ? '' : `, number ${fault.seq}`;
    output.line(`${output.paint('red', '✖')} ${fault.file}: line ${fault.line}${name} is not intact: ${fault.reason}`);
    output.line(
      last === null
        ? '  No line before it is intact.'
        : `  ${lines} lines before it are intact, up to number ${last.seq}.`,
    );
  } else if (first === null || last === null) output.line('The log is empty.');
  else {
    output.line(`${output.paint('green', '✔')} ${lines} lines are intact, number ${first.seq} to ${last.seq}`);
    output.line(`  from  ${first.at}`);
    output.line(`  to    ${last.at}`);
    output.line(`  head  ${last.hash}`);
  }
  if (anchored === false) {
    output.line(`${output.paint('red', '✖')} the line of --head is missing: the log was truncated or recreated`);
  }
  for (const note of notes) output.line(`  note: ${note}`);
}
