import type { Output, Style } from './output.ts';
import { cut, displayWidth, pad, printable } from './text.ts';

export interface Column<Row> {
  header: string;
  value: (row: Row) => string;
  style?: (row: Row) => Style;
  align?: 'left' | 'right';
  /** May be truncated if the terminal is too narrow. */
  flexible?: boolean;
}

const GAP = '  ';
const FLEXIBLE_MIN = 8;

/** Writes aligned columns under their headers, fitted to the width of a terminal. */
export function writeTable<Row>(output: Output, columns: readonly Column<Row>[], rows: readonly Row[]): void {
  const cells = rows.map((row) => columns.map(({ value }) => printable(value(row))));
  const widths = columns.map(({ header }, index) =>
    Math.max(displayWidth(header), ...cells.map((line) => displayWidth(line[index]!))),
  );
  if (output.columns !== null) shrink(columns, widths, output.columns);
  const format = (text: string, index: number): string => {
    const column = columns[index]!;
    const fitted = cut(text, widths[index]!);
    // The last column needs no padding.
    return index === columns.length - 1 && column.align !== 'right'
      ? fitted
      : pad(fitted, widths[index]!, column.align);
  };
  output.line(columns.map(({ header }, index) => output.paint('bold', format(header, index))).join(GAP));
  cells.forEach((line, at) => {
    const styled = line.map((text, index) => {
      const style = columns[index]!.style;
      const formatted = format(text, index);
      return style === undefined ? formatted : output.paint(style(rows[at]!), formatted);
    });
    output.line(styled.join(GAP).trimEnd());
  });
}

/** Shrinks flexible columns, the widest first. */
function shrink(columns: readonly Column<never>[], widths: number[], limit: number): void {
  let excess = widths.reduce((sum, width) => sum + width, 0) + GAP.length * (columns.length - 1) - limit;
  while (excess > 0) {
    let widest = -1;
    columns.forEach(({ flexible }, index) => {
      if (flexible === true && widths[index]! > FLEXIBLE_MIN && (widest < 0 || widths[index]! > widths[widest]!)) {
        widest = index;
      }
    });
    if (widest < 0) return;
    widths[widest]! -= 1;
    excess -= 1;
  }
}

/** Writes `name  value` lines; omits entries without a value. */
export function writeFields(output: Output, fields: readonly (readonly [string, string | null])[]): void {
  const shown = fields.filter((field): field is readonly [string, string] => field[1] !== null);
  const width = Math.max(0, ...shown.map(([name]) => displayWidth(name)));
  for (const [name, value] of shown) output.line(`${output.paint('bold', pad(name, width))}${GAP}${value}`);
}
