import { Permutation } from '@heddle/recon/targets/permutation';
import type { Scope } from '@heddle/recon/targets/port';
import { parseTargets, type TargetList } from '@heddle/recon/targets/target-list';
import type { SkippedTargets } from './skipped-targets.ts';
import type { DnsInput } from './scan-input.ts';

/** Stands for the target itself among words, as in zone files. */
export const TARGET_ITSELF = '@';

export interface ScannedNames {
  /** The number of names. */
  total: number;
  /** The names in the order of the seed; those out of scope are recorded as left out. */
  names: Iterable<string>;
}

/** Returns the names and addresses of one task: those of its slice, or its words prepended to each of its names. */
export function scannedNames(input: DnsInput, scope: Scope, skippedTargets: SkippedTargets): ScannedNames {
  const targets = parseTargets(input.targets, { exclude: input.settings.exclude });
  if (input.words.length > 0) {
    const total = targets.names.length * input.words.length;
    return { total, names: allowed(worded(targets, input.words), scope, skippedTargets) };
  }
  const slice = input.slice ?? { from: 0, count: targets.size };
  if (slice.from + slice.count > targets.size) {
    throw new RangeError(`slice { from: ${slice.from}, count: ${slice.count} } is not within ${targets.size}`);
  }
  const permuted = new Permutation(targets.size, input.seed);
  return { total: slice.count, names: allowed(sliced(targets, permuted, slice), scope, skippedTargets) };
}

function* sliced(targets: TargetList, permuted: Permutation, slice: { from: number; count: number }) {
  for (let at = slice.from; at < slice.from + slice.count; at += 1) yield targets.at(permuted.at(at)).host;
}

function* worded(targets: TargetList, words: readonly string[]) {
  for (const word of words) {
    for (const name of targets.names) yield word === TARGET_ITSELF ? name : `${word}.${name}`;
  }
}

function* allowed(names: Iterable<string>, scope: Scope, skippedTargets: SkippedTargets): Generator<string, void> {
  for (const name of names) {
    const verdict = scope.checkName(name);
    if (verdict.allowed) yield name;
    else skippedTargets.add(name, verdict.reason);
  }
}
