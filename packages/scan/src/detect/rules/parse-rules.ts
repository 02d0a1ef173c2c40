import { parse } from 'smol-toml';
import type { RuleText } from '../../options.ts';
import { CONFIDENCES, type Confidence } from '@heddle/base/vocabulary/confidence';
import { FormError } from './form.ts';
import { ruleOfCredential } from './form-rule.ts';
import { CHECKSUMS, type ChecksumName, isChecksum } from './checksum.ts';
import { FieldReader, type TomlTable, ruleError } from './fields.ts';
import { lowerCaseBytes } from './lower-case.ts';
import { readVerification } from './parse-verification.ts';
import type { Allowlist, RegexTarget, RequiredRule, Rule } from './rule.ts';
import type { VerificationSpec } from './verification-spec.ts';

/** One rule file as written. */
export interface RuleFile {
  name: string;
  rules: Rule[];
  allowlists: Allowlist[];
  /** Allow lists of named rules. */
  targeted: { ids: readonly string[]; allowlist: Allowlist }[];
  /** Verifications that rules of any file may name. */
  verifications: ReadonlyMap<string, VerificationSpec>;
  extend: { use_default: boolean; path?: string; disabled_rules: readonly string[] };
  warnings: string[];
}

/** Reads one file in the TOML format. Throws HeddleError with file, rule and field. */
export function parseRules(text: RuleText): RuleFile {
  const reader = new FieldReader(parseToml(text), text.name);
  const warnings: string[] = [];
  const extend = readExtend(reader, warnings);
  const rules = reader.tables('rules').map((table, at) => readRule(text.name, table, at, warnings));
  const verifications = readVerifications(reader, warnings);
  const file: RuleFile = { name: text.name, rules, allowlists: [], targeted: [], verifications, extend, warnings };
  const lists = readAllowlistTables(reader, text.name);
  lists.forEach((table, at) => {
    const list = new FieldReader(table, `${text.name}: allow list ${at + 1}`);
    const ids = list.strings('targetRules');
    const allowlist = readAllowlist(list);
    warnings.push(...list.unknown());
    if (ids.length > 0) file.targeted.push({ ids, allowlist });
    else file.allowlists.push(allowlist);
  });
  for (const name of ['title', 'description', 'minVersion']) reader.string(name);
  warnings.push(...reader.unknown());
  rejectDuplicates(file);
  return file;
}

function parseToml({ name, toml }: RuleText): TomlTable {
  try {
    return parse(toml);
  } catch (error) {
    throw ruleError(name, `it is not valid TOML: ${(error as Error).message.trim()}`);
  }
}

function readVerifications(reader: FieldReader, warnings: string[]): Map<string, VerificationSpec> {
  const table = reader.table('verifications') ?? {};
  const tables = new FieldReader(table, `${reader.where}: [verifications]`);
  return new Map(
    Object.keys(table).map((name) => {
      const where = `${reader.where}: [verifications.${name}]`;
      return [name, readVerification(name, tables.table(name) ?? {}, where, warnings)];
    }),
  );
}

function readExtend(reader: FieldReader, warnings: string[]): RuleFile['extend'] {
  const table = reader.table('extend');
  if (table === undefined) return { use_default: false, disabled_rules: [] };
  const extend = new FieldReader(table, `${reader.where}: [extend]`);
  const use_default = extend.boolean('useDefault') ?? false;
  const path = extend.string('path');
  const disabled_rules = extend.strings('disabledRules');
  warnings.push(...extend.unknown());
  if (use_default && path !== undefined && path !== '') {
    throw ruleError(extend.where, 'it has both useDefault and path; keep one of them');
  }
  return { use_default, disabled_rules, ...(path !== undefined && path !== '' && { path }) };
}

function readRule(source: string, table: TomlTable, at: number, warnings: string[]): Rule {
  const id = new FieldReader(table, `${source}: rule ${at + 1}`).string('id');
  if (id === undefined || id === '') throw ruleError(`${source}: rule ${at + 1}`, 'it has no id; write id = "..."');
  const where = `${source}: rule ${id}`;
  const reader = new FieldReader(table, where);
  reader.string('id');
  const credential = readCredential(reader);
  const regex = reader.string('regex') ?? credential?.regex;
  const each = reader.string('each');
  const path = reader.string('path');
  const confidence = readConfidence(reader);
  const docs = reader.string('docs');
  const judged_as = reader.string('judgedAs');
  const checksum = readChecksum(reader);
  const given = reader.nameOrTable('verify');
  const verify = typeof given === 'object' ? readVerification(id, given, `${where}: verify`, warnings) : given;
  const rule: Rule = {
    id,
    description: reader.string('description') ?? '',
    tags: [...new Set(reader.strings('tags'))],
    keywords: [...(credential?.keywords ?? []), ...reader.strings('keywords').map(lowerCaseBytes)],
    secret_group: reader.integer('secretGroup') ?? credential?.secret_group ?? 0,
    entropy: reader.number('entropy') ?? credential?.entropy ?? 0,
    judged: reader.boolean('judged') ?? judged_as !== undefined,
    allowlists: [...(credential?.allowlists ?? []), ...readAllowlists(reader, where, warnings)],
    required: reader.tables('required').map((required) => readRequired(required, where, warnings)),
    skip_report: reader.boolean('skipReport') ?? false,
    source,
    ...(credential?.by_name && { by_name: true }),
    ...(checksum !== undefined && { checksum }),
    ...(docs !== undefined && { docs }),
    ...(judged_as !== undefined && judged_as !== '' && { judged_as }),
    ...(verify !== undefined && { verify }),
    ...(regex !== undefined && regex !== '' && { regex }),
    ...(each !== undefined && each !== '' && { each }),
    ...(path !== undefined && path !== '' && { path }),
    ...(confidence !== undefined && { confidence }),
  };
  if (credential !== undefined && rule.regex !== credential.regex)
    throw ruleError(where, 'it has both regex and forms; keep one of them');
  if (rule.each !== undefined && rule.regex === undefined && rule.path !== undefined)
    throw ruleError(where, 'it has each, but no regex; give it the pattern of the block');
  if (rule.keywords.includes('')) throw ruleError(where, 'one of its keywords is empty; remove it');
  warnings.push(...reader.unknown());
  return rule;
}

function readConfidence(reader: FieldReader): Confidence | undefined {
  const given = reader.string('confidence');
  const confidence = CONFIDENCES.find((each) => each === given);
  if (given !== undefined && confidence === undefined)
    throw ruleError(reader.where, 'confidence must be "low", "medium" or "high"');
  return confidence;
}

/** Reads what describes a credential instead of a pattern; undefined if the rule has no forms. */
function readCredential(reader: FieldReader): ReturnType<typeof ruleOfCredential> | undefined {
  const forms = reader.strings('forms');
  const names = reader.strings('names');
  const secret_word = reader.boolean('secretWord') ?? false;
  if (forms.length === 0) return undefined;
  try {
    return ruleOfCredential({ forms, names, secret_word });
  } catch (error) {
    if (error instanceof FormError) throw ruleError(reader.where, `forms: ${error.message}`);
    throw error;
  }
}

function readChecksum(reader: FieldReader): ChecksumName | undefined {
  const name = reader.string('checksum');
  if (name === undefined || isChecksum(name)) return name;
  throw ruleError(reader.where, `checksum must be one of ${Object.keys(CHECKSUMS).join(', ')} (got "${name}")`);
}

function readAllowlists(reader: FieldReader, where: string, warnings: string[]): Allowlist[] {
  return readAllowlistTables(reader, where).map((list, index) => {
    const inner = new FieldReader(list, `${where}: allow list ${index + 1}`);
    const allowlist = readAllowlist(inner);
    warnings.push(...inner.unknown());
    return allowlist;
  });
}

/** Reads `[[allowlists]]` or the older `[allowlist]`; not both. */
function readAllowlistTables(reader: FieldReader, where: string): TomlTable[] {
  const old = reader.table('allowlist');
  const lists = reader.tables('allowlists');
  if (old !== undefined && lists.length > 0) {
    throw ruleError(where, 'it has both [allowlist] and [[allowlists]]; write all of them as [[allowlists]]');
  }
  return old === undefined ? lists : [old];
}

function readRequired(table: TomlTable, where: string, warnings: string[]): RequiredRule {
  const reader = new FieldReader(table, `${where}: required`);
  const id = reader.string('id');
  if (id === undefined || id === '') throw ruleError(reader.where, 'it names no rule; write id = "..."');
  const within_lines = reader.integer('withinLines');
  const within_columns = reader.integer('withinColumns');
  warnings.push(...reader.unknown());
  return {
    id,
    ...(within_lines !== undefined && { within_lines }),
    ...(within_columns !== undefined && { within_columns }),
  };
}

const CONDITIONS: Readonly<Record<string, Allowlist['condition']>> = {
  '': 'any',
  OR: 'any',
  '||': 'any',
  AND: 'all',
  '&&': 'all',
};

function readAllowlist(reader: FieldReader): Allowlist {
  const condition = CONDITIONS[(reader.string('condition') ?? '').toUpperCase()];
  if (condition === undefined) throw ruleError(reader.where, 'condition must be "AND" or "OR"');
  const regex_target = reader.string('regexTarget') ?? 'secret';
  if (!isTarget(regex_target)) throw ruleError(reader.where, 'regexTarget must be "secret", "match" or "line"');
  const allowlist: Allowlist = {
    description: reader.string('description') ?? '',
    condition,
    commits: reader.strings('commits').map((commit) => commit.toLowerCase()),
    paths: reader.strings('paths'),
    regexes: reader.strings('regexes'),
    regex_target,
    stopwords: reader.strings('stopwords').map(lowerCaseBytes),
  };
  const { commits, paths, regexes, stopwords } = allowlist;
  if (commits.length + paths.length + regexes.length + stopwords.length === 0) {
    throw ruleError(reader.where, 'it is empty; give it commits, paths, regexes or stopwords, or remove it');
  }
  return allowlist;
}

function isTarget(text: string): text is RegexTarget {
  return text === 'secret' || text === 'match' || text === 'line';
}

function rejectDuplicates(file: RuleFile): void {
  const seen = new Set<string>();
  for (const { id } of file.rules) {
    if (seen.has(id)) throw ruleError(`${file.name}: rule ${id}`, 'two rules have this id; rename one of them');
    seen.add(id);
  }
}
