import type { ProblemCode } from '../result.ts';

export interface ProblemWords {
  /** The problem as a heading: `encrypted`. */
  title: string;
  /** What the user can do; null if nothing needs to be done. */
  advice: string | null;
}

/** Heading and advice for each problem code. */
export const PROBLEM_WORDS: Readonly<Record<ProblemCode, ProblemWords>> = {
  unreadable: {
    title: 'could not be read',
    advice: 'give this user the right to read them, or leave them out with --exclude',
  },
  vanished: { title: 'disappeared before they could be read', advice: 'scan again while nothing removes files' },
  changed_while_read: { title: 'changed while they were read', advice: 'scan again while nothing writes to them' },
  special_file: { title: 'not regular files (devices, sockets, pipes)', advice: null },
  link_not_followed: {
    title: 'links, not followed',
    advice: 'to scan their targets, name them',
  },
  too_large: { title: 'larger than --max-object-size', advice: 'raise --max-object-size; 0 removes the limit' },
  findings_dropped: {
    title: 'more findings than are kept for one object',
    advice: 'a rule that matches this often is too broad; change it, or exclude it with --disable',
  },
  encrypted: { title: 'encrypted', advice: 'unpack them with their password and scan the result' },
  malformed_archive: { title: 'damaged archives', advice: 'repair them, or unpack them with another tool' },
  unsupported_archive: {
    title: 'archives in an unsupported format',
    advice: 'unpack them with another tool and scan the result',
  },
  unsafe_name: { title: 'entry names that escape their archive', advice: 'their content was scanned as usual' },
  depth_budget: { title: 'nested deeper than --archive-depth', advice: 'raise --archive-depth' },
  entry_count_budget: { title: 'more entries than --archive-entries', advice: 'raise --archive-entries' },
  entry_bytes_budget: {
    title: 'larger than --archive-entry-bytes when unpacked',
    advice: 'raise --archive-entry-bytes',
  },
  archive_bytes_budget: { title: 'larger than --archive-bytes when unpacked', advice: 'raise --archive-bytes' },
  root_bytes_budget: {
    title: 'larger than --archive-root-bytes when unpacked with everything inside',
    advice: 'raise --archive-root-bytes',
  },
  ratio_budget: {
    title: 'more than --archive-ratio times their size when unpacked',
    advice: 'if they are not archive bombs, raise --archive-ratio',
  },
  name_budget: { title: 'names that are too long', advice: null },
  overlapping_entries: { title: 'archives with overlapping entries, as in archive bombs', advice: null },
  rule_timed_out: { title: 'rules that took too long', advice: 'fix those rules, or raise --rule-timeout' },
  source_failed: {
    title: 'sources that could not be listed completely',
    advice: 'fix what the message names, and scan again',
  },
};
