import type { Output } from '@heddle/base/terminal/output';
import { writeTable } from '@heddle/base/terminal/table';

/** A target of findings and models. */
interface Target<Count extends string> {
  target: string;
  runs: number;
  last_run: (Readonly<Record<Count, number>> & { complete: boolean; started_at: string }) | null;
}

/** Writes targets, each with the counts of its latest run. */
export function writeTargets<Count extends string>(
  output: Output,
  targets: readonly Target<Count>[],
  counts: readonly Count[],
): void {
  writeTable(
    output,
    [
      { header: 'TARGET', value: ({ target }) => target, flexible: true },
      { header: 'RUNS', value: ({ runs }) => String(runs), align: 'right' },
      ...counts.map((count) => ({
        header: count.toUpperCase(),
        value: ({ last_run }: Target<Count>) => (last_run === null ? '-' : String(last_run[count])),
        align: 'right' as const,
      })),
      { header: 'WHOLE', value: ({ last_run }) => (last_run?.complete === true ? 'yes' : 'no') },
      { header: 'LAST RUN', value: ({ last_run }) => last_run?.started_at ?? '-' },
    ],
    targets,
  );
}
