import type { Logger } from '@heddle/base/log';
import type { Configuration } from './config.ts';

/** Logs misspelled variables, which have no effect. */
export function warnUnknownVariables({ unknownVariables }: Configuration, log: Logger): void {
  for (const name of unknownVariables) log.warn({ variable: name }, `${name} is set, but is not a setting`);
}
