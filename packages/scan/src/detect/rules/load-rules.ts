import type { RuleText, ScanOptions } from '../../options.ts';
import { builtinRuleTexts } from './builtin.ts';
import { ruleError } from './fields.ts';
import { type RuleFile, parseRules } from './parse-rules.ts';
import type { Rule, RuleSet } from './rule.ts';
import type { VerificationSpec } from './verification-spec.ts';

/** The rules to use; without `enable`, or if it is empty, all that are not disabled. */
export type RuleChoice = Pick<ScanOptions, 'rules'> & Partial<Pick<ScanOptions, 'enable' | 'disable'>>;

/**
 * Returns the file that `[extend] path` of a rule file names, which the caller must load first; undefined without one.
 */
export function extendedPath(text: RuleText): string | undefined {
  return parseRules(text).extend.path;
}

/**
 * Reads and merges rule sets: a later file changes earlier rules by id and adds its own. Defaults to the built-in
 * rules. Throws HeddleError with file, rule, field and remedy.
 */
export function loadRules(options: RuleChoice): RuleSet {
  const texts = options.rules.length > 0 ? options.rules : builtinRuleTexts();
  const merged = new Merge();
  texts.map(trustedFile).forEach((file, at) => {
    if (file.extend.use_default) for (const text of builtinRuleTexts()) merged.add(parseRules(text));
    if (file.extend.path !== undefined && at === 0) {
      throw ruleError(file.name, `it extends ${file.extend.path}, which was not given; name that file before this one`);
    }
    merged.add(file);
  });
  return merged.finish(options);
}

/** The author of an untrusted file must not choose where secrets are sent. */
function trustedFile(text: RuleText): RuleFile {
  const file = parseRules(text);
  const asks = file.verifications.size > 0 || file.rules.some(({ verify }) => verify !== undefined);
  if (text.untrusted !== true || !asks) return file;
  const rules = file.rules.map(({ verify: _, ...rule }) => rule);
  const warning = `${file.name}: its descriptions of verifications are ignored; only files named with --rules may have them`;
  return { ...file, rules, verifications: new Map(), warnings: [...file.warnings, warning] };
}

class Merge {
  readonly #verifications = new Map<string, VerificationSpec>();
  readonly #rules = new Map<string, Rule>();
  readonly #allowlists: RuleSet['allowlists'][number][] = [];
  readonly #targeted: (RuleFile['targeted'][number] & { name: string })[] = [];
  readonly #warnings: string[] = [];
  readonly #disabled = new Set<string>();

  add(file: RuleFile): void {
    this.#warnings.push(...file.warnings);
    for (const [name, spec] of file.verifications) this.#verifications.set(name, spec);
    for (const id of file.extend.disabled_rules) {
      this.#disabled.add(id);
      if (!this.#rules.delete(id)) this.#warnings.push(`${file.name}: disabledRules names ${id}, which is not a rule`);
    }
    for (const rule of file.rules) {
      const base = this.#rules.get(rule.id);
      this.#rules.set(rule.id, base === undefined ? rule : override(base, rule));
    }
    this.#allowlists.push(...file.allowlists);
    this.#targeted.push(...file.targeted.map((each) => ({ ...each, name: file.name })));
  }

  finish({ enable = [], disable = [] }: RuleChoice): RuleSet {
    for (const { ids, allowlist, name } of this.#targeted) {
      for (const id of ids) {
        const rule = this.#rules.get(id);
        if (rule === undefined && this.#disabled.has(id)) continue;
        if (rule === undefined) throw ruleError(name, `targetRules of an allow list names ${id}, which is not a rule`);
        this.#rules.set(id, { ...rule, allowlists: [...rule.allowlists, allowlist] });
      }
    }
    for (const id of [...enable, ...disable]) {
      if (!this.#rules.has(id)) throw ruleError('rules', `there is no rule ${id} to enable or disable`);
    }
    const rules = this.#chosen(enable, disable).map((rule) => this.#withVerification(rule));
    for (const rule of rules) this.#check(rule);
    return { rules, allowlists: this.#allowlists, warnings: this.#warnings };
  }

  /** Rules that a selected one requires are kept, unreported. */
  #chosen(enable: readonly string[], disable: readonly string[]): Rule[] {
    const all = [...this.#rules.values()];
    const chosen = all.filter(({ id }) => (enable.length === 0 || enable.includes(id)) && !disable.includes(id));
    const required = new Set(chosen.flatMap((rule) => rule.required.map(({ id }) => id)));
    const added = all.filter((rule) => required.has(rule.id) && !chosen.includes(rule));
    return [...chosen, ...added.map((rule) => ({ ...rule, skip_report: true }))];
  }

  /** Puts the description in the place of its name. */
  #withVerification(rule: Rule): Rule {
    if (typeof rule.verify !== 'string') return rule;
    const verify = this.#verifications.get(rule.verify) ?? builtinVerification(rule.verify);
    if (verify !== undefined) return { ...rule, verify };
    throw ruleError(
      `${rule.source}: rule ${rule.id}`,
      `verify names ${rule.verify}, which is no verification; write a table [verifications.${rule.verify}], or [rules.verify]`,
    );
  }

  #check(rule: Rule): void {
    const where = `${rule.source}: rule ${rule.id}`;
    if (rule.regex === undefined && rule.path === undefined) {
      throw ruleError(where, 'it has neither regex nor path; give it one');
    }
    for (const { id } of rule.required) {
      if (!this.#rules.has(id)) throw ruleError(where, `it requires ${id}, which is not a rule`);
    }
  }
}

let builtin: ReadonlyMap<string, VerificationSpec> | undefined;

/** Rules of other files may name the verifications that ship with Heddle. */
function builtinVerification(name: string): VerificationSpec | undefined {
  builtin ??= new Map(builtinRuleTexts().flatMap((text) => [...parseRules(text).verifications]));
  return builtin.get(name);
}

/** Replaces the fields that the later rule sets; keywords, tags and allow lists accumulate. */
function override(base: Rule, rule: Rule): Rule {
  return {
    ...base,
    ...(rule.description !== '' && { description: rule.description }),
    ...(rule.entropy !== 0 && { entropy: rule.entropy }),
    ...(rule.secret_group !== 0 && { secret_group: rule.secret_group }),
    ...(rule.regex !== undefined && { regex: rule.regex, source: rule.source }),
    // Another block contains other secrets.
    ...(rule.regex !== undefined && { each: rule.each }),
    ...(rule.each !== undefined && { each: rule.each, source: rule.source }),
    // Another pattern finds other secrets.
    ...(rule.regex !== undefined && { checksum: rule.checksum, by_name: rule.by_name, verify: rule.verify }),
    ...(rule.verify !== undefined && { verify: rule.verify }),
    ...(rule.checksum !== undefined && { checksum: rule.checksum }),
    ...(rule.docs !== undefined && { docs: rule.docs }),
    ...(rule.judged_as !== undefined && { judged_as: rule.judged_as }),
    ...(rule.path !== undefined && { path: rule.path, source: rule.source }),
    tags: [...new Set([...base.tags, ...rule.tags])],
    keywords: [...new Set([...base.keywords, ...rule.keywords])],
    allowlists: [...base.allowlists, ...rule.allowlists],
    required: [...base.required, ...rule.required],
    skip_report: base.skip_report || rule.skip_report,
    judged: base.judged || rule.judged,
    ...(rule.confidence !== undefined && { confidence: rule.confidence }),
  };
}
