import { Option, type Command } from 'commander';

import {
  clientCommand,
  parseId,
  processIo,
  wholeNumber,
  type ClientContext,
  type CommandIo,
} from '../output/client-command.ts';
import { parseEndpoint, verifyFindings, type FindingsVerifyOptions } from './findings-verify.ts';
import { given, pageQuery, paged, type PageOptions } from '../output/list-options.ts';
import type { Output, Style } from '@heddle/base/terminal/output';
import { writeFields, writeTable } from '@heddle/base/terminal/table';
import { writeTargets } from '../output/target-table.ts';
import { printable } from '@heddle/base/terminal/text';
import type { Finding, FindingDetail } from '../output/wire.ts';

type Verdict = NonNullable<Finding['verification']>['verdict'];

interface ListOptions {
  target?: string;
  rule?: string;
  state?: Finding['state'];
  triage?: Finding['triage']['state'];
  path?: string;
  secret?: string;
  confidence?: Finding['confidence'];
  verdict?: Verdict;
  onlyActive?: boolean;
  since?: string;
  after?: string;
  pageSize?: number;
}

interface IgnoreOptions {
  comment?: string;
  falsePositive?: boolean;
}

const STATE_LOOKS: Readonly<Record<Finding['state'], Style>> = { new: 'red', known: 'yellow', gone: 'gray' };
const TRIAGE_WORDS: Readonly<Record<Finding['triage']['state'], string>> = {
  open: 'open',
  ignored: 'ignored',
  false_positive: 'false positive',
};

/** Adds `heddle findings …`. */
export function registerFindingsCommands(program: Command, io: CommandIo = processIo): void {
  const findings = program.command('findings').description('Inspect and triage the findings of scans');
  registerReads(findings, io);
  registerChanges(findings, io);
}

function registerReads(findings: Command, io: CommandIo): void {
  clientCommand<ListOptions>(
    findings
      .command('list')
      .description('List findings, newest first')
      .option('--target <name>', 'Only of this target')
      .option('--rule <id>', 'Only of this rule')
      .addOption(new Option('--state <state>', 'Only in this state').choices(['new', 'known', 'gone']))
      .addOption(
        new Option('--triage <state>', 'Only with this triage status').choices(['open', 'ignored', 'false_positive']),
      )
      .option('--path <prefix>', 'Only in objects whose path has this prefix')
      .addOption(new Option('--confidence <level>', 'Only at least this certain').choices(['low', 'medium', 'high']))
      .addOption(new Option('--verdict <verdict>', 'Only with this verdict').choices(['active', 'inactive', 'unknown']))
      .addOption(new Option('--only-active', 'Same as --verdict active').conflicts('verdict'))
      .option('--secret <id>', 'Only of this secret, by the secret ID of a finding')
      .option('--since <moment>', 'Only first seen at or after this time: 2026-01-31, or 2026-01-31T08:00:00Z')
      .option('--after <id>', 'Continue after this finding', parseId)
      .option('--page-size <number>', 'Findings per page', wholeNumber(1, 10_000)),
    io,
    listFindings,
  );
  clientCommand(
    findings.command('get').description('Show a finding').argument('<id>', 'ID of the finding', parseId),
    io,
    async ({ client, output }, _options, id) => printFinding(output, await client.findings.get(id)),
  );
  clientCommand<PageOptions>(
    paged(findings.command('targets').description('List the scanned targets, with the latest run of each'), 'targets'),
    io,
    listTargets,
  );
}

function registerChanges(findings: Command, io: CommandIo): void {
  clientCommand<FindingsVerifyOptions>(
    findings
      .command('verify')
      .description('Ask the providers again whether the secrets of findings are active')
      .argument('[id...]', 'IDs of the findings (default: all open ones that are not gone)')
      .option('--target <name>', 'Only of this target')
      .option('--rule <id>', 'Only of this rule')
      .option('--path <prefix>', 'Only in objects whose path has this prefix')
      .option('--only-active', 'Show only findings whose secrets are active')
      .option('--s3-endpoint <url>', 'URL of the S3 API, for buckets of services other than AWS', parseEndpoint)
      .option('--s3-region <name>', 'Region of the buckets')
      .option('--s3-path-style', 'Put the bucket in the path of requests instead of the host name'),
    io,
    (context, options, ...values) =>
      verifyFindings(context, options, values.flat(), (findings) => writeFindings(context.output, findings)),
  );
  clientCommand<IgnoreOptions>(
    findings
      .command('ignore')
      .description('Suppress a finding, also in later runs')
      .argument('<id>', 'ID of the finding', parseId)
      .option('--comment <text>', 'Comment')
      .option('--false-positive', 'Mark it as a false positive'),
    io,
    async ({ client, output }, { comment, falsePositive }, id) => {
      const triage = falsePositive === true ? 'false_positive' : 'ignored';
      printFinding(output, await client.findings.change(id, { triage, ...given({ comment }) }));
      return undefined;
    },
  );
  clientCommand<Pick<IgnoreOptions, 'comment'>>(
    findings
      .command('reopen')
      .description('Stop suppressing a finding')
      .argument('<id>', 'ID of the finding', parseId)
      .option('--comment <text>', 'Comment'),
    io,
    async ({ client, output }, { comment }, id) => {
      const change = { triage: 'open' as const, ...given({ comment }) };
      printFinding(output, await client.findings.change(id, change));
      return undefined;
    },
  );
}

async function listFindings({ client, output }: ClientContext, options: ListOptions): Promise<undefined> {
  const { target, rule, state, triage, path, secret, confidence, since, after, pageSize } = options;
  const verdict = options.onlyActive === true ? 'active' : options.verdict;
  const listed = await client.findings.list(
    given({ target, rule, state, triage, path, secret, confidence, verdict, since, after, page_size: pageSize }),
  );
  output.result(listed, () => writeFindings(output, listed));
  return undefined;
}

function writeFindings(output: Output, findings: readonly Finding[]): void {
  if (findings.length === 0) {
    output.line('no matching findings');
    return;
  }
  writeTable(
    output,
    [
      { header: 'ID', value: ({ id }) => id },
      { header: 'STATE', value: ({ state }) => state, style: ({ state }) => STATE_LOOKS[state] },
      { header: 'TRIAGE', value: ({ triage }) => TRIAGE_WORDS[triage.state] },
      { header: 'TARGET', value: ({ target }) => target, flexible: true },
      { header: 'CONFIDENCE', value: ({ confidence }) => confidence },
      ...(findings.every(({ verification }) => verification === null) ? [] : [VERDICT_COLUMN]),
      { header: 'RULE', value: ({ rule_id }) => rule_id, flexible: true },
      { header: 'PLACE', value: placeOf, flexible: true },
      { header: 'SECRET', value: ({ redacted }) => redacted },
    ],
    findings,
  );
}

function keyOf({ key_path, key_name }: Finding): string {
  return [key_path, key_name === null ? null : `(${key_name})`].filter((part) => part !== null).join(' ');
}

function confidenceOf({ confidence, confidence_reason }: Finding): string {
  return confidence_reason === null ? confidence : `${confidence}: ${confidence_reason}`;
}

/** Only where something was verified. */
const VERDICT_COLUMN = {
  header: 'VERDICT',
  value: ({ verification }: Finding): string => verification?.verdict ?? '',
  style: verdictStyle,
};

function verdictStyle({ verification }: Finding): Style {
  if (verification?.verdict === 'active') return 'red';
  return verification?.verdict === 'inactive' ? 'green' : 'gray';
}

function verificationLines({ verification }: Finding): [string, string | null][] {
  if (verification === null) return [];
  const { verdict, reason, checked_at, identity, permissions } = verification;
  return [
    ['verified', printable(`${verdict}: ${reason}, ${checked_at}`)],
    ['identity', identity === null ? null : printable(identity)],
    ['permits', permissions.length === 0 ? null : printable(permissions.join(', '))],
  ];
}

function placeOf({ path, line }: Pick<Finding, 'path' | 'line'>): string {
  return `${path}:${line}`;
}

function printFinding(output: Output, finding: FindingDetail): undefined {
  output.result(finding, () => {
    const { triage, commit } = finding;
    const judged = [TRIAGE_WORDS[triage.state], triage.by === null ? '' : `by ${triage.by}`, triage.at ?? ''];
    writeFields(output, [
      ['id', finding.id],
      ['target', printable(finding.target)],
      ['rule', printable(finding.rule_id)],
      ['finds', printable(finding.description)],
      ['place', printable(`${finding.path}:${finding.line}:${finding.column}`)],
      ['secret', printable(finding.redacted)],
      ['key', finding.key_path === null && finding.key_name === null ? null : printable(keyOf(finding))],
      ['confidence', printable(confidenceOf(finding))],
      ...verificationLines(finding),
      ['occurs', finding.occurrences === 1 ? 'once' : `${finding.occurrences} times`],
      ['under', finding.encodings.length === 0 ? null : finding.encodings.join(', ')],
      ['commit', commit === null ? null : commitLine(commit)],
      ['state', output.paint(STATE_LOOKS[finding.state], finding.state)],
      ['first seen', finding.first_seen],
      ['last seen', `${finding.last_seen}, in ${finding.runs} ${finding.runs === 1 ? 'run' : 'runs'}`],
      ['gone since', finding.gone_at],
      ['triage', judged.filter((part) => part !== '').join(', ')],
      ['comment', triage.comment === null ? null : printable(triage.comment)],
      ['fingerprint', finding.fingerprint],
      ['secret id', finding.secret_id],
    ]);
    writeContext(output, finding.context);
    writeElsewhere(output, finding.elsewhere);
  });
  return undefined;
}

function commitLine({ id, author, date, subject }: NonNullable<Finding['commit']>): string {
  return printable(`${id} by ${author}, ${date}${subject === null ? '' : `: ${subject}`}`);
}

/** Writes the lines around the secret, with `>` before those of the match. */
function writeContext(output: Output, context: FindingDetail['context']): void {
  if (context.length === 0) return;
  output.line('');
  const width = String(context.at(-1)!.number).length;
  for (const { number, text, mark } of context)
    output.line(`${mark === null ? ' ' : '>'} ${String(number).padStart(width)} | ${printable(text)}`);
}

function writeElsewhere(output: Output, elsewhere: FindingDetail['elsewhere']): void {
  if (elsewhere.length === 0) return;
  output.line('');
  output.line('the same secret was found elsewhere:');
  writeTable(
    output,
    [
      { header: 'ID', value: ({ id }) => id },
      { header: 'STATE', value: ({ state }) => state, style: ({ state }) => STATE_LOOKS[state] },
      { header: 'TARGET', value: ({ target }) => target, flexible: true },
      { header: 'PLACE', value: placeOf, flexible: true },
    ],
    elsewhere,
  );
}

async function listTargets({ client, output }: ClientContext, options: PageOptions): Promise<undefined> {
  const targets = await client.findings.targets(pageQuery(options));
  output.result(targets, () => {
    if (targets.length === 0) output.line('no targets have been scanned');
    else writeTargets(output, targets, ['new', 'known', 'gone']);
  });
  return undefined;
}
