import type { Command } from 'commander';

import type { AuditVerdict } from '../../app/remote/audit.ts';
import { EXIT } from '../../app/failure.ts';
import type { Output } from '../output/output.ts';
import { outputOf } from '../settings-options.ts';

const HELP = `
Files of one log may be given in any order, rotated ones beside the one that is written to:

  heddle audit verify .heddle/executor/audit/*

Exit codes: 0 every line fits, 1 one does not, or the line of --head is not there, 2 a file cannot be read.`;

/** `heddle audit`: needs neither an executor nor its settings. */
export function registerAuditCommand(program: Command): void {
  program
    .command('audit')
    .description('check the audit log of an executor')
    .command('verify')
    .description('say whether a line was changed, removed, swapped or added, and which is the first')
    .argument('<file...>', 'the files of one audit log')
    .option('--head <hash>', 'a hash that the log is known to have held; a log that was cut or made anew lacks it')
    .option('--json', 'JSON on standard output, nothing else')
    .addHelpText('after', HELP)
    .action(async (files: string[], options: { head?: string; json?: boolean }) => {
      const { verifyFiles } = await import('../../app/remote/audit.ts');
      const verdict = await verifyFiles(files, options.head);
      const output = outputOf(options);
      output.result(verdict, () => tell(output, verdict));
      if (verdict.fault !== null || verdict.anchored === false) process.exitCode = EXIT.failed;
    });
}

function tell(output: Output, { fault, lines, first, last, notes, anchored }: AuditVerdict): void {
  if (fault !== null) {
    const name = fault.seq === null ? '' : `, number ${fault.seq}`;
    output.line(`${output.paint('red', '✖')} ${fault.file}: line ${fault.line}${name} does not fit: ${fault.reason}`);
    output.line(
      last === null ? '  No line before it fits.' : `  ${lines} lines before it fit, up to number ${last.seq}.`,
    );
  } else if (first === null || last === null) output.line('The log has no lines.');
  else {
    output.line(`${output.paint('green', '✔')} ${lines} lines fit, number ${first.seq} to ${last.seq}`);
    output.line(`  from  ${first.at}`);
    output.line(`  to    ${last.at}`);
    output.line(`  head  ${last.hash}`);
  }
  if (anchored === false) {
    output.line(`${output.paint('red', '✖')} the line of --head is not there: the log was cut, or made anew`);
  }
  for (const note of notes) output.line(`  note: ${note}`);
}
