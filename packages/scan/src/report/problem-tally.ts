import type { Problem, ProblemCode } from '../result.ts';
import { counted } from './figures.ts';
import { PROBLEM_WORDS } from './problem-words.ts';
import type { Paint } from './report.ts';
import { shortened, visible } from './visible.ts';

/** Problems of one code that are listed; the others are counted. */
const EXAMPLES = 5;
const MESSAGE_CHARACTERS = 200;

interface Tally {
  count: number;
  examples: Problem[];
}

/** Counts problems by code and keeps the first few of each, in bounded memory. */
export class ProblemTally {
  readonly #left = new Map<ProblemCode, Tally>();
  readonly #notices = new Map<ProblemCode, Tally>();

  add(problem: Problem): void {
    const tallies = problem.extent === 'notice' ? this.#notices : this.#left;
    const tally = tallies.get(problem.code) ?? { count: 0, examples: [] };
    tallies.set(problem.code, tally);
    tally.count += 1;
    if (tally.examples.length < EXAMPLES) tally.examples.push(problem);
  }

  /** Returns whether a sentence (`path: message`) is one of the listed problems. */
  names(sentence: string): boolean {
    return this.left.some(([, { examples }]) =>
      examples.some(({ path, message }) => `${path}: ${message}` === sentence && message.length <= MESSAGE_CHARACTERS),
    );
  }

  /** Returns what was not scanned completely, by code in alphabetical order. */
  get left(): readonly (readonly [ProblemCode, Tally])[] {
    return sorted(this.#left);
  }

  /** Returns what was scanned, or does not need scanning. */
  get notices(): readonly (readonly [ProblemCode, Tally])[] {
    return sorted(this.#notices);
  }
}

function sorted(tallies: ReadonlyMap<ProblemCode, Tally>): [ProblemCode, Tally][] {
  return [...tallies].sort(([left], [right]) => (left < right ? -1 : 1));
}

/** Formats the problems of a scan: what was left out with reasons and advice, then the notices as counts. */
export function problemLines(problems: ProblemTally, paint: Paint): string[] {
  const { left, notices } = problems;
  const lines: string[] = [];
  const total = left.reduce((sum, [, { count }]) => sum + count, 0);
  if (total > 0) lines.push(paint('yellow', `! ${counted(total, 'problem')}: not everything was scanned completely`));
  for (const [code, { count, examples }] of left) {
    const { title, advice } = PROBLEM_WORDS[code];
    lines.push(`  ${title}: ${count}${advice === null ? '' : paint('gray', ` (${advice})`)}`);
    for (const { path, message, extent } of examples) {
      // Of a source, it may be that nothing was listed.
      const part = extent === 'partial' && code !== 'source_failed' ? ' (partly scanned)' : '';
      lines.push(`    ${visible(path)}: ${visible(shortened(message, MESSAGE_CHARACTERS))}${part}`);
    }
    if (count > examples.length)
      lines.push(paint('gray', `    and ${counted(count - examples.length, 'more', 'more')}`));
  }
  for (const [code, { count }] of notices) lines.push(paint('gray', `  note: ${PROBLEM_WORDS[code].title}: ${count}`));
  return lines;
}
