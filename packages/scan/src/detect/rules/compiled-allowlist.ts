import { CompiledRegex } from '../regex/compiled-regex.ts';
import { lowerCaseBytes } from './lower-case.ts';
import type { AllowlistPlan } from './rule-plan.ts';
import type { Allowlist } from './rule.ts';

/** The input of an allow list. Strings are bytes as latin1. */
export interface AllowlistSubject {
  path: string;
  commit: string | undefined;
  secret: string;
  match: string;
  line: string;
}

/** One compiled allow list. */
export class CompiledAllowlist {
  readonly #list: Allowlist;
  readonly #commits: ReadonlySet<string>;
  readonly #paths: readonly CompiledRegex[];
  readonly #regexes: readonly CompiledRegex[];

  constructor({ list, paths, regexes }: AllowlistPlan) {
    this.#list = list;
    this.#commits = new Set(list.commits);
    this.#paths = paths.map((plan) => new CompiledRegex(plan));
    this.#regexes = regexes.map((plan) => new CompiledRegex(plan));
  }

  /** Whether it can exempt a whole object. */
  get looksAtObjects(): boolean {
    return this.#commits.size > 0 || this.#paths.length > 0;
  }

  /** Returns true if the whole object is exempt. */
  allowsObject(path: string, commit: string | undefined): boolean {
    if (this.#list.condition === 'any') return this.#allowsPath(path) || this.#allowsCommit(commit);
    if (this.#regexes.length > 0 || this.#list.stopwords.length > 0) return false;
    return this.#allOfObject(path, commit);
  }

  allowsFinding(judged: AllowlistSubject): boolean {
    if (this.#list.condition === 'any') return this.#allowsText(judged) || this.#hasStopword(judged.secret);
    return (
      this.#allOfObject(judged.path, judged.commit) &&
      (this.#regexes.length === 0 || this.#allowsText(judged)) &&
      (this.#list.stopwords.length === 0 || this.#hasStopword(judged.secret))
    );
  }

  #allOfObject(path: string, commit: string | undefined): boolean {
    return (
      (this.#paths.length === 0 || this.#allowsPath(path)) && (this.#commits.size === 0 || this.#allowsCommit(commit))
    );
  }

  #allowsPath(path: string): boolean {
    return this.#paths.some((regex) => regex.test(path));
  }

  #allowsCommit(commit: string | undefined): boolean {
    return commit !== undefined && this.#commits.has(commit.toLowerCase());
  }

  #allowsText(judged: AllowlistSubject): boolean {
    const text = judged[this.#list.regex_target];
    return this.#regexes.some((regex) => regex.test(text));
  }

  #hasStopword(secret: string): boolean {
    if (this.#list.stopwords.length === 0) return false;
    const lower = lowerCaseBytes(Buffer.from(secret, 'latin1').toString('utf8'));
    return this.#list.stopwords.some((word) => lower.includes(word));
  }
}
