import { HeddleError } from '../../domain/errors.ts';
import { Faults } from './target-lines.ts';
import { readPort } from './target-text.ts';
import { TOP_PORTS_MAX, TOP_TCP_PORTS } from './top-ports.ts';

/**
 * Reads a list of ports: `22,80-90,top-100,!443`. `all` and `-` are every port, `!` leaves ports out wherever it stands.
 *
 * @returns each port once, in the order of the text
 * @throws HeddleError VALIDATION_FAILED with text and remedy
 */
export function parsePorts(text: string): number[] {
  const ports = new Set<number>();
  const excluded = new Set<number>();
  const faults = new Faults();
  for (const entry of text.split(/[\s,]+/).filter((each) => each !== '')) {
    const leavesOut = entry.startsWith('!');
    const read = readPorts(leavesOut ? entry.slice(1) : entry);
    if (typeof read === 'string') faults.add({ text: entry, place: 'ports' }, read);
    else for (const port of read) (leavesOut ? excluded : ports).add(port);
  }
  faults.throwIfAny();
  if (ports.size === 0) {
    const remedy = excluded.size === 0 ? 'name some: 22,80-90,top-100' : 'name what they are left out of: all,!443';
    throw new HeddleError('VALIDATION_FAILED', `ports: none are named; ${remedy}`);
  }
  const left = [...ports].filter((port) => !excluded.has(port));
  if (left.length === 0) throw new HeddleError('VALIDATION_FAILED', 'ports: all that are named are left out again');
  return left;
}

/** The ports of one entry, or what is wrong with it. */
function readPorts(entry: string): readonly number[] | string {
  if (entry === 'all' || entry === '-') return span(1, 65_535);
  const top = /^top-(\d{1,5})$/.exec(entry);
  if (top !== null) {
    const count = Number(top[1]);
    if (count >= 1 && count <= TOP_PORTS_MAX) return TOP_TCP_PORTS.slice(0, count);
    return `is no list that there is: top-1 to top-${TOP_PORTS_MAX}, or all`;
  }
  const [first, last, rest] = entry.split('-');
  const from = readPort(first!);
  const to = last === undefined ? from : readPort(last);
  if (from === null || to === null || rest !== undefined) {
    return 'is no port from 1 to 65535, no range such as 80-90, and no list such as top-100';
  }
  return to < from ? 'ends before it begins' : span(from, to);
}

function span(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
}
