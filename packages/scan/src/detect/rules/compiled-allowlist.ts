import { CompiledRegex } from '../regex/compiled-regex.ts';
import { remembered } from '../remembered.ts';
import { lowerCaseBytes } from './lower-case.ts';
import { type AllowlistPlan, looksAtObjects } from './rule-plan.ts';
import type { Allowlist } from './rule.ts';

/** The input of an allow list. Strings are bytes as latin1. */
export interface AllowlistSubject {
  path: string;
  commit: string | undefined;
  secret: string;
  match: string;
  line: string;
}

/** Many lists look at one secret. */
const lowerCaseOf = remembered(1, (secret) => lowerCaseBytes(Buffer.from(secret, 'latin1').toString('utf8')));

const compiled = new WeakMap<AllowlistPlan, CompiledAllowlist>();

/** Returns the compiled form of an allow list, which the rules of a thread share. */
export function readyAllowlist(plan: AllowlistPlan): CompiledAllowlist {
  const known = compiled.get(plan);
  if (known !== undefined) return known;
  const list = new CompiledAllowlist(plan);
  compiled.set(plan, list);
  return list;
}

/** One compiled allow list. */
export class CompiledAllowlist {
  /** Whether it can exempt a whole object. */
  readonly looksAtObjects: boolean;
  readonly #list: Allowlist;
  readonly #commits: ReadonlySet<string>;
  readonly #paths: readonly CompiledRegex[];
  readonly #regexes: readonly CompiledRegex[];

  constructor(plan: AllowlistPlan) {
    const { list, paths, regexes } = plan;
    this.looksAtObjects = looksAtObjects(plan);
    this.#list = list;
    this.#commits = new Set(list.commits);
    this.#paths = paths.map((each) => new CompiledRegex(each));
    this.#regexes = regexes.map((each) => new CompiledRegex(each));
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
    return this.#patternFor(judged) !== undefined;
  }

  #patternFor(judged: AllowlistSubject): string | undefined {
    const text = judged[this.#list.regex_target];
    return this.#regexes.find((regex) => regex.test(text))?.pattern;
  }

  #hasStopword(secret: string): boolean {
    return this.#stopwordIn(secret) !== undefined;
  }

  #stopwordIn(secret: string): string | undefined {
    if (this.#list.stopwords.length === 0) return undefined;
    const lower = lowerCaseOf(secret);
    return this.#list.stopwords.find((word) => lower.includes(word));
  }

  /** Describes the list and what of it exempts a finding: `the allow list "our tests" (stopword "example")`. */
  reasonFor(judged: AllowlistSubject): string {
    const { description, regex_target, paths, commits } = this.#list;
    const pattern = this.#patternFor(judged);
    const stopword = this.#stopwordIn(judged.secret);
    const parts = [
      ...(pattern === undefined ? [] : [`pattern of the ${regex_target} ${pattern}`]),
      ...(stopword === undefined ? [] : [`stopword "${stopword}"`]),
      ...(paths.length > 0 && this.#allowsPath(judged.path) ? ['path'] : []),
      ...(commits.length > 0 && this.#allowsCommit(judged.commit) ? ['commit'] : []),
    ];
    return `the allow list${description === '' ? '' : ` "${description}"`} (${parts.join(', ')})`;
  }
}
