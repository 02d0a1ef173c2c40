import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, test } from 'node:test';

import { Command } from 'commander';

import { registerScanCommand } from '@heddle/scan/command/scan-command';
import { ScanDirectory } from '../support/cli/scan-process.ts';

const directory = new ScanDirectory({ 'clean/words.txt': 'nothing at all\n' });
const at = (name: string): string => `${directory.path}/${name}`;

after(() => directory.remove());

/** Runs the command in this process; resolves with its output, and with the code of the error that ended it. */
async function refusal(args: readonly string[]): Promise<{ message: string; exitCode: number }> {
  let written = '';
  const program = new Command('heddle').showSuggestionAfterError().exitOverride();
  program.configureOutput({ writeErr: (text) => (written += text) });
  registerScanCommand(program);
  try {
    await program.parseAsync(['scan', at('clean'), '--rules', at('rules.toml'), '--quiet', ...args], { from: 'user' });
  } catch (error) {
    const { message, exitCode } = error as Error & { exitCode: number };
    return { message: `${written}${message}`, exitCode };
  }
  throw new Error(`heddle scan ${args.join(' ')} was not refused`);
}

const refusals: [string, string[], RegExp][] = [
  ['a thread too few', ['--threads', '0'], /--threads.*whole number between 1 and 256/],
  ['a size without a number', ['--max-object-size', 'big'], /--max-object-size.*4096, 10k or 1.5GiB/],
  ['a size beyond all bounds', ['--chunk-size', '9999999999t'], /--chunk-size.*between 4k and 2m/],
  ['a number beyond all bounds', ['--archive-entries', '1e99'], /--archive-entries.*whole number/],
  ['a time without a unit that is one', ['--rule-timeout', '3 weeks'], /--rule-timeout.*500ms or 2s/],
  ['an unknown policy', ['--archive-policy', 'maybe'], /--archive-policy.*skip, partial, fail-run/],
  ['an unknown format', ['--format', 'xml'], /--format.*text, jsonl, sarif, junit/],
  ['a report without a file', ['--report', 'sarif'], /--report.*FORMAT=FILE/],
  ['an unknown flag', ['--exlude', 'x'], /unknown option '--exlude'[\s\S]*--exclude/],
  ['a glob that is none', ['--exclude', 'a[b'], /--exclude a\[b: \[ has no matching \]/],
  ['a set out of order', ['--include', '[z-a]'], /--include \[z-a\]: is not a valid glob/],
  ['rules with and without the built-in ones', ['--extend-builtin', '--only-rules'], /contradict each other/],
  ['two formats', ['--json', '--format', 'sarif'], /--json and --format sarif contradict/],
  ['a frontier that archives do not fit', ['--frontier', '2'], /--frontier 2: must be larger than --archive-depth/],
  ['an unknown rule', ['--enable', 'test-tokn'], /--enable test-tokn: unknown rule; did you mean "test-token"/],
  ['a bucket without a name', ['s3://'], /has no bucket/],
  ['text in place of a diff', ['--diff', at('clean/words.txt')], /contains no diff; it must be in the unified format/],
  ['a group that leads elsewhere', ['--gitlab', '../x'], /--gitlab \.\.\/x: must be a group/],
  [
    'an endpoint of no verification',
    ['--verify', '--verify-endpoint', 'nothing-like-it=https://example.com'],
    /no rule has such a verification; `heddle scan rules --json` names those of all rules$/,
  ],
  ['flags of S3 without S3', ['--s3-region', 'x'], /--s3-region needs a path such as s3:/],
  ['revisions without a history', ['--revisions', 'main'], /--revisions needs --git/],
  ['a repository by its address', ['--git', 'https://example.com/a.git'], /clone it first/],
  ['the index and a history', ['--staged', '--git', '.'], /--staged and --git contradict each other/],
  ['standard input twice', ['-', '--files-from', '-'], /both read standard input/],
  ['a directory to write to', ['--output', at('clean')], /--output .*clean: is a directory; name a file in it/],
  ['a file in no directory', ['--output', at('no/where')], /no such directory: .*no; create it first/],
  ['one file for two reports', ['--output', at('x'), '--report', `sarif=${at('./x')}`], /two reports have this name/],
  ['a baseline that is not there', ['--baseline', at('no.json')], /--baseline .*no\.json: no such file/],
  ['a baseline that is none', ['--baseline', at('rules.toml')], /rules\.toml is not valid JSON/],
  ['rules that are not there', ['--rules', at('no.toml')], /--rules .*no\.toml: no such file/],
  ['an empty path', [''], /a path is empty/],
];
for (const [what, args, message] of refusals) {
  test(`${what}: rejected by name with a remedy, and nothing is left behind`, async () => {
    const before = readdirSync(directory.path);
    const refused = await refusal(args);
    assert.match(refused.message, message);
    // Faults of the command line's grammar are 1 here; the process maps them to 2.
    assert.ok([1, 2].includes(refused.exitCode));
    assert.deepEqual(readdirSync(directory.path), before);
  });
}
