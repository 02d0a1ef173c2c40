import type { LogLine } from '@heddle/client';
import { formatMoment, parseTime } from '../times.ts';

/** One line of a log: quiet output, loud errors, the time on hover. */
export function LogText({ line, mark }: { line: LogLine; mark?: string }) {
  const at = parseTime(line.at);
  const isLoud = line.stream === 'stderr' || line.level === 'warn' || line.level === 'error';
  return (
    <span
      className="log-line"
      data-loud={isLoud || undefined}
      title={at === null ? line.stream : `${formatMoment(at)}, ${line.level ?? line.stream}`}
    >
      {mark === undefined || mark === '' ? line.text : marked(line.text, mark)}
    </span>
  );
}

/** The text with every occurrence of `mark`, in any case, marked. */
function marked(text: string, mark: string): React.ReactNode[] {
  const parts: React.ReactNode[] = [];
  const low = text.toLowerCase();
  const find = mark.toLowerCase();
  let from = 0;
  for (let at = low.indexOf(find); at !== -1; at = low.indexOf(find, from)) {
    parts.push(text.slice(from, at), <mark key={at}>{text.slice(at, at + find.length)}</mark>);
    from = at + find.length;
  }
  return [...parts, text.slice(from)];
}
