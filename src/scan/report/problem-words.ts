import type { ProblemCode } from '../result.ts';

export interface ProblemWords {
  /** What is the matter, as a heading: `encrypted`. */
  title: string;
  /** What the user can do; null where nothing is to be done. */
  advice: string | null;
}

/** What each code of a problem means to people, and what helps. */
export const PROBLEM_WORDS: Readonly<Record<ProblemCode, ProblemWords>> = {
  unreadable: {
    title: 'could not be read',
    advice: 'give this user the right to read them, or leave them out with --exclude',
  },
  vanished: { title: 'gone when their turn came', advice: 'scan again while nothing removes files' },
  changed_while_read: { title: 'changed while they were read', advice: 'scan again while nothing writes to them' },
  special_file: { title: 'no files of data (devices, sockets, pipes)', advice: null },
  link_not_followed: {
    title: 'links, not followed',
    advice: 'name what they lead to, if it shall be scanned',
  },
  too_large: { title: 'larger than --max-object-size', advice: 'raise --max-object-size; 0 is no bound' },
  findings_dropped: {
    title: 'more findings than are kept of one object',
    advice: 'a rule that finds so much is too wide; change it, or leave it out with --disable',
  },
  encrypted: { title: 'encrypted', advice: 'unpack them with their password, and scan what comes out' },
  malformed_archive: { title: 'damaged archives', advice: 'repair or unpack them by other means' },
  unsupported_archive: { title: 'archives of a form that is not read', advice: 'unpack them by other means' },
  unsafe_name: { title: 'names that lead out of their archive', advice: 'their content was treated as any other' },
  depth_budget: { title: 'nested deeper than --archive-depth', advice: 'raise --archive-depth' },
  entry_count_budget: { title: 'more entries than --archive-entries', advice: 'raise --archive-entries' },
  entry_bytes_budget: { title: 'unpacked, more than --archive-entry-bytes', advice: 'raise --archive-entry-bytes' },
  archive_bytes_budget: { title: 'unpacked, more than --archive-bytes', advice: 'raise --archive-bytes' },
  root_bytes_budget: {
    title: 'unpacked with all within, more than --archive-root-bytes',
    advice: 'raise --archive-root-bytes',
  },
  ratio_budget: {
    title: 'unpacked, more than --archive-ratio times their size',
    advice: 'if they are no bombs, raise --archive-ratio',
  },
  name_budget: { title: 'names that are too long', advice: null },
  overlapping_entries: { title: 'archives whose entries overlap, as those of bombs do', advice: null },
  rule_timed_out: { title: 'rules that took too long', advice: 'mend those rules, or raise --rule-timeout' },
  source_failed: {
    title: 'sources that could not be listed to their end',
    advice: 'mend what the message names, and scan again',
  },
};
