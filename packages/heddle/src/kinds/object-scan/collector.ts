import type { ReportedFinding } from '@heddle/core/domain/finding';
import type { ScanBooks } from '@heddle/core/engine/port';
import type { Verification } from '@heddle/base/vocabulary/verdict';
import { secretIdOf } from '@heddle/scan/fingerprint';
import { redactFinding, redactSecret } from '@heddle/scan/report/redact';
import type { Finding, Problem } from '@heddle/scan/result';

/** Maximum findings in a result; earlier ones go into chunks of the same size. */
const CHUNK_FINDINGS = 500;
const CHUNK_CHARACTERS_MAX = 512 * 1024;
/** Chunks that may wait to be written before the scan pauses. */
const CHUNKS_WAITING_MAX = 2;
const PROBLEMS_KEPT = 50;
const TEXT_CHARACTERS_MAX = 4096;
const TAGS_MAX = 20;
/** Findings with their context in a result that must hold all of them: findings matter more than the lines around. */
const CONTEXTS_WITHOUT_DATABASE = 100;

export interface CollectorOptions {
  books: Pick<ScanBooks, 'putChunk'> | null;
  task_id: string;
  attempt: number;
  /** Problem codes that do not make a scan incomplete. */
  accept: readonly string[];
}

/**
 * Collects the findings of one scan, without secrets, in bounded memory, writing chunks to the database as needed.
 * Several occurrences of one secret in an object are one finding with a count.
 */
export class ScanCollector {
  readonly #options: CollectorOptions;
  /** Findings of the current object, by fingerprint. */
  readonly #currentFindings = new Map<string, ReportedFinding>();
  #path: string | null = null;
  #ready: ReportedFinding[] = [];
  #readyCharacters = 0;
  #writing: Promise<void> = Promise.resolve();
  #waiting = 0;
  #failure: { error: unknown } | null = null;
  #chunks = 0;
  #count = 0;
  #lost = 0;
  #omitted = 0;
  readonly problems: Problem[] = [];
  problemCount = 0;

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  /** Findings collected, each once per object. */
  get count(): number {
    return this.#count;
  }

  get lost(): number {
    return this.#lost;
  }

  /** Problems that make the scan incomplete. */
  get omitted(): number {
    return this.#omitted;
  }

  /** Resolves once the next finding can be accepted. */
  finding(finding: Finding): Promise<void> | undefined {
    if (finding.path !== this.#path) this.#closeObject(finding.path);
    const known = this.#currentFindings.get(finding.fingerprint);
    if (known !== undefined) {
      known.occurrences += 1;
      return undefined;
    }
    if (this.#currentFindings.size >= CHUNK_FINDINGS) this.#closeObject(finding.path);
    this.#count += 1;
    const hasContext = this.#options.books !== null || this.#count <= CONTEXTS_WITHOUT_DATABASE;
    this.#currentFindings.set(finding.fingerprint, withoutSecret(finding, hasContext));
    return this.#waiting >= CHUNKS_WAITING_MAX ? this.#settle() : undefined;
  }

  problem(problem: Problem): void {
    const counts = problem.extent !== 'notice' && !this.#options.accept.includes(problem.code);
    if (counts) this.#omitted += 1;
    this.problemCount += 1;
    if (this.problems.length >= PROBLEMS_KEPT) return;
    this.problems.push({ ...problem, path: storable(problem.path), message: storable(problem.message) });
  }

  async #settle(): Promise<void> {
    await this.#writing;
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Returns the findings for the result; all others have been written. */
  async end(): Promise<{ findings: ReportedFinding[]; chunks: number }> {
    this.#closeObject(null);
    await this.#settle();
    return { findings: this.#ready, chunks: this.#chunks };
  }

  #closeObject(next: string | null): void {
    for (const finding of this.#currentFindings.values()) this.#keep(finding);
    this.#currentFindings.clear();
    this.#path = next;
  }

  #keep(finding: ReportedFinding): void {
    const characters = JSON.stringify(finding).length;
    const isFull = this.#ready.length >= CHUNK_FINDINGS || this.#readyCharacters + characters > CHUNK_CHARACTERS_MAX;
    if (isFull && this.#options.books === null) {
      this.#lost += 1;
      return;
    }
    if (isFull) this.#write();
    this.#ready.push(finding);
    this.#readyCharacters += characters;
  }

  #write(): void {
    const { books, task_id, attempt } = this.#options;
    const findings = this.#ready;
    const key = { task_id, attempt, ordinal: this.#chunks };
    this.#chunks += 1;
    this.#ready = [];
    this.#readyCharacters = 0;
    this.#waiting += 1;
    this.#writing = this.#writing
      .then(() => (this.#failure === null ? books!.putChunk(key, findings) : undefined))
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#waiting -= 1;
      });
  }
}

/** Returns a finding as it leaves the machine: only the beginning of the secret, and lines in which all are masked. */
function withoutSecret(finding: Finding, hasContext: boolean): ReportedFinding {
  const shown = redactFinding(finding);
  const { commit, context = [] } = shown;
  return {
    fingerprint: finding.fingerprint,
    rule_id: storable(finding.rule_id),
    description: storable(finding.description),
    tags: finding.tags.slice(0, TAGS_MAX).map(storable),
    path: storable(finding.path),
    redacted: storable(redactSecret(finding.secret)),
    secret_id: secretIdOf(finding.secret),
    verification: finding.verification === undefined ? null : storableVerification(finding.verification),
    occurrences: 1,
    line: finding.line,
    column: finding.column,
    end_line: finding.end_line,
    end_column: finding.end_column,
    entropy: finding.entropy,
    encodings: finding.encodings,
    confidence: finding.confidence,
    confidence_reason: storable(shown.confidence_reason),
    key_path: shown.key_path === undefined ? null : storable(shown.key_path),
    key_name: shown.key_name === undefined ? null : storable(shown.key_name),
    commit:
      commit === undefined
        ? null
        : {
            id: commit.id,
            author: storable(commit.author),
            date: storable(commit.date),
            subject: storable(commit.subject),
          },
    context: hasContext ? context.map((line) => ({ ...line, text: storable(line.text) })) : [],
  };
}

/** What providers answer is text of strangers. */
function storableVerification({ reason, identity, permissions, ...verification }: Verification): Verification {
  return {
    ...verification,
    reason: storable(reason),
    identity: identity === null ? null : storable(identity),
    permissions: permissions.map(storable),
  };
}

/** Makes untrusted text storable in the database. */
function storable(text: string): string {
  const cut = text.length > TEXT_CHARACTERS_MAX ? `${text.slice(0, TEXT_CHARACTERS_MAX - 1)}…` : text;
  return cut.replaceAll('\u0000', '\ufffd').toWellFormed();
}
