import { RegexSyntaxError } from '@heddle/base/regex/parse';
import type { RuleFile } from '../detect/rules/parse-rules.ts';
import type { Allowlist, Rule } from '../detect/rules/rule.ts';
import type { VerificationSpec } from '../detect/rules/verification-spec.ts';
import { parseRegex } from '../detect/regex/parse.ts';

/** Returns the faults of the patterns in a rule file: one sentence each, with rule, field and position. */
export function patternFaults({ name, rules, allowlists, targeted, verifications }: RuleFile): string[] {
  const lists = [...allowlists, ...targeted.map(({ allowlist }) => allowlist)];
  return [
    ...rules.flatMap((rule) => ruleFaults(name, rule)),
    ...[...verifications].flatMap(([id, spec]) => verificationFaults(`${name}: [verifications.${id}]`, spec)),
    ...lists.flatMap((list, index) => listFaults(`${name}: allow list ${index + 1}`, list)),
  ];
}

function ruleFaults(name: string, rule: Rule): string[] {
  const where = `${name}: rule ${rule.id}`;
  return [
    ...faultsOf(`${where}: regex`, rule.regex),
    ...faultsOf(`${where}: path`, rule.path),
    ...(typeof rule.verify === 'object' ? verificationFaults(`${where}: verify`, rule.verify) : []),
    ...rule.allowlists.flatMap((list, index) => listFaults(`${where}: allow list ${index + 1}`, list)),
  ];
}

function verificationFaults(where: string, { companions }: VerificationSpec): string[] {
  return companions.flatMap(({ name, regex }) => faultsOf(`${where}: companions: ${name}`, regex));
}

function listFaults(where: string, { paths, regexes }: Allowlist): string[] {
  return [
    ...regexes.flatMap((pattern, index) => faultsOf(`${where}: regexes[${index}]`, pattern)),
    ...paths.flatMap((pattern, index) => faultsOf(`${where}: paths[${index}]`, pattern)),
  ];
}

const CONTEXT_CHARACTERS = 20;

function faultsOf(where: string, pattern: string | undefined): string[] {
  if (pattern === undefined) return [];
  try {
    parseRegex(pattern);
    return [];
  } catch (error) {
    if (!(error instanceof RegexSyntaxError)) throw error;
    const { position, message } = error;
    const around = pattern.slice(Math.max(0, position - CONTEXT_CHARACTERS), position + CONTEXT_CHARACTERS);
    return [`${where}: character ${position + 1}: ${message}; near ${JSON.stringify(around)}`];
  }
}
