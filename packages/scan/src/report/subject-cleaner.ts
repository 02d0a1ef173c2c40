import type { Commit, Finding, Problem } from '../result.ts';
import { commitPath, isCommitPath } from '../source/commit-path.ts';
import { redactSecret } from './redact.ts';

/**
 * Removes secrets found in a commit message from the commit's subject, whichever finding shows it, and hides the
 * subject if its message was not scanned completely. Findings arrive in the order of the listing, a commit's message
 * before its blobs, so one commit is remembered.
 */
export class SubjectCleaner {
  readonly #isWanted: (path: string) => boolean;
  #commit = '';
  #subject = '';
  /** Path of the last message that was not scanned completely. */
  #incomplete = '';

  /** @param isWanted whether the object at a path is scanned */
  constructor(isWanted: (path: string) => boolean) {
    this.#isWanted = isWanted;
  }

  clean(finding: Finding): Finding {
    const { commit, path } = finding;
    if (commit === undefined) return finding;
    const messagePath = commitPath(commit);
    if (path === messagePath) {
      const before = this.#commit === commit.id ? this.#subject : commit.subject;
      this.#commit = commit.id;
      this.#subject = withoutSecret(before, finding);
      // The message may contain more secrets than were found so far.
      return withSubject(finding, commit, redactSecret(''));
    }
    if (this.#incomplete === messagePath || !this.#isWanted(messagePath))
      return withSubject(finding, commit, redactSecret(''));
    return this.#commit === commit.id ? withSubject(finding, commit, this.#subject) : finding;
  }

  problem({ path, extent }: Problem): void {
    if (extent !== 'notice' && isCommitPath(path)) this.#incomplete = path;
  }
}

function withSubject(finding: Finding, commit: Commit, subject: string): Finding {
  return { ...finding, commit: { ...commit, subject } };
}

function withoutSecret(subject: string, { secret, encodings }: Finding): string {
  if (secret === '') return subject;
  const shown = redactSecret(secret);
  // The encoded form is not known any more.
  if (encodings.length > 0) return shown;
  // Git makes one line of the first paragraph.
  const line = secret.replaceAll(/\s*\n\s*/g, ' ');
  if (subject.includes(line)) return subject.replaceAll(line, () => shown);
  return withoutCutSecret(subject, line, shown);
}

/** Long subjects are truncated, which may leave the beginning of a secret at their end. */
function withoutCutSecret(subject: string, secret: string, shown: string): string {
  for (let length = Math.min(secret.length, subject.length); length > 0; length -= 1) {
    if (subject.endsWith(secret.slice(0, length))) {
      return length < SECRET_PART_MIN ? subject : subject.slice(0, -length) + shown;
    }
  }
  return subject;
}

/** Fewer characters at the end of a subject are chance. */
const SECRET_PART_MIN = 5;
