/** Formats the report for display. */
import type { Languages, Measure } from './files.ts';
import type { Report } from './work.ts';

const DUPLICATES_SHOWN = 5;

const number = new Intl.NumberFormat('en');

export function reportTable(report: Report): string {
  const lines = languageTable(report.languages, report.total);
  return [...lines, '', ...duplicateLines(report), `check of a sample: ${report.check}`].join('\n');
}

/** A line for each language, the largest first, and one for the total. */
export function languageTable(languages: Languages, total: Measure): string[] {
  const rows = Object.entries(languages)
    .sort(([, a], [, b]) => b.lines - a.lines || b.bytes - a.bytes)
    .concat([['all', total]])
    .map(([name, { files, lines, bytes }]) => [name, ...[files, lines, bytes].map((value) => number.format(value))]);
  const table = [['language', 'files', 'lines', 'bytes'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]!.length)));
  return table.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  '),
  );
}

function duplicateLines({ duplicates }: Report): string[] {
  if (duplicates.length === 0) return ['no duplicate files'];
  const shown = duplicates
    .slice(0, DUPLICATES_SHOWN)
    .map(({ bytes, paths }) => `  ${paths.length} x ${number.format(bytes)} bytes: ${paths.slice(0, 3).join(', ')}`);
  const more = duplicates.length - shown.length;
  return [`duplicate files: ${duplicates.length}`, ...shown, ...(more > 0 ? [`  and ${more} more`] : [])];
}
