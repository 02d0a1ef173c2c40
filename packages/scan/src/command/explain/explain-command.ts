import type { Command } from 'commander';

import { systemClock } from '@heddle/base/clock';
import { optionalText } from '@heddle/base/setting';
import { Output } from '@heddle/base/terminal/output';
import { commandPath } from '@heddle/base/terminal/program';
import { addOptionGroup, valuesOf } from '@heddle/base/terminal/setting-options';
import { untilDone } from '../interruptible.ts';
import { requestOf } from '../options.ts';
import { scanDisplayFor } from '../progress.ts';
import { keepHeapSmall } from '../small-heap.ts';

const OPTIONS = {
  fromReport: optionalText(
    '--from-report <file>',
    'Report in JSON lines, or a baseline, that says where a fingerprint is, instead of a scan',
  ),
};

const examples = (command: string): string => `
The options of a scan apply: --rules, --confidence, --baseline, --staged, --json and so on.

Examples:
  ${command} src/config.ts:12           why this line is, or is not, a finding
  ${command} 'backup.zip!etc/app.env:3' --confidence low
  ${command} 3032b381d3ed0f516d6f4761f3c57df3 .
Exit codes: 0 explained, 2 error, 130 interrupted by Ctrl-C.`;

/** `heddle scan explain`: says how the scan decides about one line or finding. */
export function registerScanExplain(scan: Command): void {
  const command = scan.command('explain');
  addOptionGroup(command, 'Options', OPTIONS)
    .description('Explain a finding, or why a line has none: rules, matches, and why each was dropped')
    .argument('<place>', 'FILE:LINE, or the fingerprint of a finding')
    .argument('[path...]', 'Where to look for a fingerprint (default .)')
    .helpCommand(false)
    .addHelpText('after', () => examples(commandPath(command)))
    .action(async (place: string, paths: string[], _own: object, self: Command) => {
      const options = self.optsWithGlobals();
      const request = requestOf(paths, options);
      const { stdout, stderr } = process;
      const output = new Output({ stdout, stderr, clock: systemClock, json: request.format === 'jsonl' });
      const enabled = request.progress && !request.quiet;
      const display = scanDisplayFor({ stdout, stderr, clock: systemClock, enabled });
      const notice = request.quiet ? (): void => undefined : (text: string): void => display.notice(text);
      keepHeapSmall();
      const { explainPlace } = await import('./explain-place.ts');
      const { writeExplanation } = await import('./explanation-text.ts');
      const { fromReport } = valuesOf(OPTIONS, options);
      const progress = display.update.bind(display);
      try {
        process.exitCode = await untilDone(async (interrupted) => {
          const explained = await explainPlace({ place, fromReport, request, notice, progress }, interrupted);
          display.stop();
          output.result(explained, () => writeExplanation(output, explained));
        });
      } finally {
        display.stop();
      }
    });
}
