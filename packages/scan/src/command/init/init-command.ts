import type { Command } from 'commander';

import { systemClock } from '@heddle/base/clock';
import { toggle } from '@heddle/base/setting';
import { Output } from '@heddle/base/terminal/output';
import { addOptionGroup, valuesOf } from '@heddle/base/terminal/setting-options';
import { count } from '@heddle/base/terminal/text';
import { visible } from '../../report/visible.ts';
import { untilDone } from '../interruptible.ts';
import { requestOf } from '../options.ts';
import { scanDisplayFor } from '../progress.ts';
import { keepHeapSmall } from '../small-heap.ts';
import type { InitResult } from './init.ts';
import type { SetupFile } from './setup-files.ts';

const OPTIONS = {
  githubWorkflow: toggle('--github-workflow', 'Write a GitHub workflow, whatever the repository has'),
  gitlabJob: toggle('--gitlab-job', 'Write a GitLab job, whatever the repository has'),
  ci: toggle('--no-ci', 'Write no job for CI'),
  hook: toggle('--no-hook', 'Write no pre-commit hook'),
  dryRun: toggle('--dry-run', 'Print what would be written'),
};

const NOTES = `
The options of a scan that select rules and paths apply, and are part of what is written: --rules, --exclude, --confidence
and so on. --baseline FILE names the baseline (default .heddle-baseline.json). Existing files are never changed.
Exit codes: 0 done, 2 error, 130 interrupted by Ctrl-C.`;

/** `heddle scan init`: makes a repository refuse new secrets. */
export function registerScanInit(scan: Command): void {
  addOptionGroup(scan.command('init'), 'Options', OPTIONS)
    .description('Set up a repository: a baseline of what is found now, a pre-commit hook, and a job for CI')
    .argument('[repository]', 'The repository, or a directory in it', '.')
    .helpCommand(false)
    .addHelpText('after', NOTES)
    .action(async (repository: string, _own: object, self: Command) => {
      const options = self.optsWithGlobals();
      const request = requestOf([], options);
      const { stdout, stderr } = process;
      const output = new Output({ stdout, stderr, clock: systemClock, json: request.format === 'jsonl' });
      const enabled = request.progress && !request.quiet;
      const display = scanDisplayFor({ stdout, stderr, clock: systemClock, enabled });
      keepHeapSmall();
      const { initRepository } = await import('./init.ts');
      const choice = valuesOf(OPTIONS, options);
      try {
        process.exitCode = await untilDone(async (interrupted) => {
          const progress = display.update.bind(display);
          const notice = (text: string): void => display.notice(text);
          const result = await initRepository({ repository, request, choice, notice, progress, interrupted });
          display.stop();
          output.result(result, () => writeResult(output, result, choice.dryRun));
        });
      } finally {
        display.stop();
      }
    });
}

function writeResult(output: Output, { findings, objects, files, next }: InitResult, isDry: boolean): void {
  const scanned = count(objects, 'file');
  if (findings !== null) output.line(`${count(findings, 'finding')} in ${scanned}`);
  for (const file of files) writeFile(output, file, isDry);
  for (const step of next) output.line(`${output.paint('bold', 'next:')} ${visible(step)}`);
}

function writeFile(output: Output, { path, purpose, state, content, remedy }: SetupFile, isDry: boolean): void {
  const sign = state === 'blocked' ? output.paint('yellow', '!') : output.paint('green', '✔');
  const done = { written: isDry ? 'would write' : 'wrote', unchanged: 'unchanged', blocked: 'left alone' }[state];
  output.line(`${sign} ${done} ${visible(path)}: ${purpose}`);
  if (remedy !== null) output.line(`  ${visible(remedy)}`);
  if (content === null || (state !== 'blocked' && !isDry)) return;
  for (const line of content.trimEnd().split('\n')) output.line(`    ${visible(line)}`.trimEnd());
}
