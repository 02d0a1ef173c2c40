import { HeddleError } from './errors.ts';
import {
  LINE_CHARS_MAX,
  LOG_LEVELS,
  LOG_STREAMS,
  type EncodedLines,
  type LineLevel,
  type LogLine,
  type LogStream,
} from './vocabulary/task-log.ts';

/** Letters of streams and levels, upper case since the time before them is not: the initial of a level for `log`. */
const LETTERS = new Map<string, Pick<LogLine, 'stream' | 'level'>>([
  ['O', { stream: LOG_STREAMS[0], level: null }],
  ['S', { stream: LOG_STREAMS[1], level: null }],
  ...LOG_LEVELS.map((level) => [level[0]!.toUpperCase(), { stream: LOG_STREAMS[2], level }] as const),
]);
const LINE = /^([0-9a-z]+)([OSDIWE])/;

function letterOf(stream: LogStream, level: LineLevel | null): string {
  if (stream === 'log') return (level ?? 'info')[0]!.toUpperCase();
  return stream === 'stdout' ? 'O' : 'S';
}

/**
 * Encodes lines, each as a line break, its time in base 36, the letter of its origin, and the text. Lines mostly come in
 * groups with the same time and origin, so that what precedes the text is kept from one line to the next.
 */
export class LineEncoder {
  #at = -1;
  #stream: LogStream = 'log';
  #level: LineLevel | null = null;
  #prefix = '';

  /** @param text without a line break */
  encode(at: number, stream: LogStream, level: LineLevel | null, text: string): string {
    if (at !== this.#at || stream !== this.#stream || level !== this.#level) {
      this.#at = at;
      this.#stream = stream;
      this.#level = level;
      this.#prefix = `\n${at.toString(36)}${letterOf(stream, level)}`;
    }
    return this.#prefix + text;
  }
}

/** @throws HeddleError VALIDATION_FAILED if one is longer than a line may be, or has a line break */
export function encodeLines(lines: readonly LogLine[]): EncodedLines {
  if (lines.some(({ text }) => text.length > LINE_CHARS_MAX || text.includes('\n'))) {
    throw new HeddleError('VALIDATION_FAILED', undefined, {
      details: [`lines: each must be one line of at most ${LINE_CHARS_MAX} characters`],
    });
  }
  const encoder = new LineEncoder();
  const text = lines.map((line) => encoder.encode(line.at, line.stream, line.level, line.text)).join('');
  return { lines: lines.length, text };
}

export function decodeLines(text: string): LogLine[] {
  return text
    .slice(1)
    .split('\n')
    .map((line) => {
      const [, at = '0', letter = 'O'] = LINE.exec(line) ?? [];
      return { at: Number.parseInt(at, 36), ...LETTERS.get(letter)!, text: line.slice(at.length + 1) };
    });
}
