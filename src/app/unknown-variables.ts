import type { Logger } from '../runtime/log.ts';
import type { Configuration } from './config.ts';

/** Misspelt variables change nothing, so they are told. */
export function warnOfUnknown({ unknownVariables }: Configuration, log: Logger): void {
  for (const name of unknownVariables) log.warn({ variable: name }, `${name} is set, but there is no such setting`);
}
