const RESET = '\u001b[0m';
const DIM = '\u001b[2m';
const LEVEL_COLOR: Readonly<Record<string, string>> = {
  debug: '\u001b[34m',
  info: '\u001b[32m',
  warn: '\u001b[33m',
  error: '\u001b[31m',
};

/** Escapes characters that would break the line or move the cursor of a terminal. */
const NEEDS_QUOTES = /[\s"=\\\u0000-\u001f\u007f-\u009f]/;
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

/** Formats one JSON log entry as a readable line: `12:01:02.345 WARN  the message  field=value other="two words"`. */
function prettyLine(jsonLine: string, color: boolean): string {
  const { level, time, msg, ...fields } = JSON.parse(jsonLine) as Record<string, unknown>;
  const name = text(level);
  const paint = (code: string, painted: string): string => (color ? `${code}${painted}${RESET}` : painted);
  const clock = text(time).slice(11, 23);
  const head = `${paint(DIM, clock)} ${paint(LEVEL_COLOR[name] ?? '', name.toUpperCase().padEnd(5))} ${oneLine(text(msg))}`;
  const tail = Object.entries(fields).map(([key, value]) => `${key}=${fieldText(value)}`);
  return `${tail.length === 0 ? head : `${head}  ${paint(DIM, tail.join(' '))}`}\n`;
}

/** Converts log entries from JSON lines to readable lines; `color` adds ANSI colors. */
export function prettySink(sink: { write(line: string): void }, color: boolean): { write(line: string): void } {
  return { write: (line) => sink.write(prettyLine(line, color)) };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function oneLine(value: string): string {
  return value.replace(CONTROL, (char) =>
    JSON.stringify(char)
      .slice(1, -1)
      .replace(/^[\u007f-\u009f]$/, ' '),
  );
}

/** Shows an error by its message; its other fields are only in the JSON form. */
function fieldText(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'stack' in value && 'message' in value) {
    return fieldText(value.message);
  }
  const plain = typeof value === 'string' ? value : JSON.stringify(value);
  return typeof value === 'string' && (value === '' || NEEDS_QUOTES.test(value))
    ? oneLine(JSON.stringify(value))
    : plain;
}
