import type { Command } from 'commander';

import { EXIT } from '@heddle/base/terminal/failure';
import type { Output } from '@heddle/base/terminal/output';
import { writeTable } from '@heddle/base/terminal/table';
import { printable } from '@heddle/base/terminal/text';
import type { AuditVerdict } from '../../app/remote/audit.ts';
import { clientCommand, processIo, wholeNumber, type ClientContext, type CommandIo } from '../output/client-command.ts';
import { given } from '../output/list-options.ts';
import type { AuditEntry } from '../output/wire.ts';
import { verifyServer } from './audit-verify.ts';

const HELP = `
Without files it verifies the audit log of the server. Files are those of an executor's log, in any order, rotated ones
together with the current one:

  heddle audit verify .heddle/executor/audit/*

A log that was cut off at its end is intact in itself: note the head from time to time, and give it with --head.
Also exits with 1 if a line is not intact, or the line of --head is missing.`;

interface ListOptions {
  actor?: string;
  action?: string;
  object?: string;
  since?: string;
  before?: number;
  pageSize?: number;
}

/** Adds `heddle audit …`. Verifying an executor's files needs no server. */
export function registerAuditCommand(program: Command, io: CommandIo = processIo): void {
  const audit = program.command('audit').description('Show and verify audit logs');
  clientCommand<ListOptions>(
    audit
      .command('list')
      .description('List who did what, newest first')
      .option('--actor <name>', 'Only of this token, `cli:USER` or `task:ID`')
      .option('--action <text>', 'Only this action, such as "POST /v1/jobs"')
      .option('--object <id>', 'Only on this object')
      .option('--since <moment>', 'Only at or after this time: 2026-01-31, or 2026-01-31T08:00:00Z')
      .option('--before <number>', 'Only entries before this one', wholeNumber(1, 999_999_999))
      .option('--page-size <number>', 'Entries per page', wholeNumber(1, 10_000)),
    io,
    listEntries,
  );
  clientCommand<{ head?: string }>(
    audit
      .command('verify')
      .description('Report whether a line was changed, removed, swapped or added, and the first such line')
      .argument('[file...]', 'Files of the audit log of an executor (default: the log of the server)')
      .option('--head <hash>', 'Hash known to be in the log; it is missing from a truncated or recreated log')
      .addHelpText('after', HELP),
    io,
    async ({ client, output, url }, { head }, files) => {
      // Several arguments arrive as one value.
      const paths = [files].flat();
      const { requireHash, verifyFiles } = await import('../../app/remote/audit.ts');
      requireHash(head);
      const verdict = paths.length === 0 ? await verifyServer(client.audit, url, head) : await verifyFiles(paths, head);
      output.result(verdict, () => report(output, verdict));
      return verdict.fault !== null || verdict.anchored === false ? EXIT.failed : EXIT.ok;
    },
  );
}

async function listEntries({ client, output }: ClientContext, options: ListOptions): Promise<undefined> {
  const { pageSize, ...filter } = options;
  const { actor, action, object, since, before } = filter;
  const entries = await client.audit.list(given({ actor, action, object, since, before, page_size: pageSize }));
  output.result(entries, () => {
    if (entries.length === 0) output.line('no matching entries');
    else writeEntries(output, entries);
  });
  return undefined;
}

function writeEntries(output: Output, entries: readonly AuditEntry[]): void {
  writeTable(
    output,
    [
      { header: 'NUMBER', value: ({ seq }) => String(seq) },
      { header: 'TIME', value: ({ at }) => at },
      { header: 'ACTOR', value: ({ actor }) => printable(actor ?? '-') },
      { header: 'ACTION', value: ({ action }) => printable(action), flexible: true },
      { header: 'OBJECT', value: ({ object }) => printable(object ?? '-'), flexible: true },
      { header: 'STATUS', value: ({ status }) => (status === null ? '-' : String(status)) },
    ],
    entries,
  );
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
