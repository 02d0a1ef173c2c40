import { HeddleError } from '@heddle/base/errors';
import { Faults } from './target-lines.ts';
import { readPort } from './target-text.ts';
import { TOP_PORTS_MAX, TOP_TCP_PORTS } from './top-ports.ts';

/**
 * Parses a list of ports: `22,80-90,top-100,!443`. `all` and `-` mean every port; `!` excludes ports, at any position.
 *
 * @returns each port once, in the order given
 * @throws HeddleError VALIDATION_FAILED with the entry and the remedy
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
    const remedy = excluded.size === 0 ? 'name some: 22,80-90,top-100' : 'name what to exclude them from: all,!443';
    throw new HeddleError('VALIDATION_FAILED', `ports: the list is empty; ${remedy}`);
  }
  const left = [...ports].filter((port) => !excluded.has(port));
  if (left.length === 0) throw new HeddleError('VALIDATION_FAILED', 'ports: every named port is excluded');
  return left;
}

/** Returns the ports of one entry, or its fault. */
function readPorts(entry: string): readonly number[] | string {
  if (entry === 'all' || entry === '-') return span(1, 65_535);
  const top = /^top-(\d{1,5})$/.exec(entry);
  if (top !== null) {
    const count = Number(top[1]);
    if (count >= 1 && count <= TOP_PORTS_MAX) return TOP_TCP_PORTS.slice(0, count);
    return `is not a known list; use top-1 to top-${TOP_PORTS_MAX}, or all`;
  }
  const [first, last, rest] = entry.split('-');
  const from = readPort(first!);
  const to = last === undefined ? from : readPort(last);
  if (from === null || to === null || rest !== undefined) {
    return 'is not a port from 1 to 65535, a range such as 80-90 or a list such as top-100';
  }
  return to < from ? 'ends before it begins' : span(from, to);
}

function span(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
}
