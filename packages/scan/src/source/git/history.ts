import type { Commit } from '../../result.ts';

/** Fields of a commit, each terminated by a zero byte, and a first one that differs from the start of any change. */
export const COMMIT_FORMAT = '%H%x00%an%x00%ae%x00%aI%x00%s%x00';

const COMMIT_FIELDS = 5;
const SUBJECT_LENGTH_MAX = 200;
const COLON = 0x3a;
const NEWLINE = 0x0a;

/** A path that a commit gave to an object. */
export interface Change {
  commit: Commit;
  /** Mode of the object: six octal digits. */
  mode: string;
  /** Offset of the object's id in `text`, in hexadecimal digits. */
  text: Uint8Array;
  start: number;
  /** Bytes of the path. */
  path: Buffer;
}

/** Receives a history in order: each commit before its changes. */
export interface HistorySink {
  commit(commit: Commit): void;
  change(change: Change): void;
}

/**
 * Parses the output of `git log -z --raw --no-abbrev`: every field ends with a zero byte; a field that starts with
 * colons, one per parent, is a change and is followed by its path; any other one is the first field of a commit.
 */
export class HistoryParser {
  readonly #digits: number;
  #rest: Buffer = Buffer.alloc(0);
  #fields: string[] = [];
  #commit: Commit | null = null;
  #meta: Buffer | null = null;

  /** @param digits hexadecimal digits in an object id */
  constructor(digits: number) {
    this.#digits = digits;
  }

  push(chunk: Buffer, sink: HistorySink): void {
    const text = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let from = 0;
    for (let end = text.indexOf(0); end !== -1; end = text.indexOf(0, from)) {
      this.#token(text.subarray(from, end), sink);
      from = end + 1;
    }
    // A copy, so that a few bytes do not keep the chunk alive.
    this.#rest = from === text.length ? Buffer.alloc(0) : Buffer.from(text.subarray(from));
  }

  #token(token: Buffer, sink: HistorySink): void {
    if (this.#meta !== null) {
      const change = this.#changeOf(this.#meta, token);
      this.#meta = null;
      sink.change(change);
      return;
    }
    if (this.#fields.length === 0) {
      let begin = 0;
      while (token[begin] === NEWLINE) begin += 1;
      if (token[begin] === COLON) {
        this.#meta = token.subarray(begin);
        return;
      }
      if (begin === token.length) return;
      this.#fields.push(token.toString('latin1', begin));
      return;
    }
    this.#fields.push(token.toString('utf8'));
    if (this.#fields.length < COMMIT_FIELDS) return;
    const [id, author, email, date, subject] = this.#fields as [string, string, string, string, string];
    this.#commit = { id, author, email, date, subject: subject.slice(0, SUBJECT_LENGTH_MAX) };
    this.#fields = [];
    sink.commit(this.#commit);
  }

  /**
   * Parses `:MODE MODE ID ID STATUS`, with one more colon, mode and id for each further parent; the last ones are the
   * result.
   */
  #changeOf(meta: Buffer, path: Buffer): Change {
    let parents = 0;
    while (meta[parents] === COLON) parents += 1;
    const mode = parents + 7 * parents;
    const start = mode + 7 + (this.#digits + 1) * parents;
    if (this.#commit === null || meta.length < start + this.#digits)
      throw new Error(`git: a change that cannot be read: ${meta.toString('latin1')}`);
    return { commit: this.#commit, mode: meta.toString('latin1', mode, mode + 6), text: meta, start, path };
  }
}
