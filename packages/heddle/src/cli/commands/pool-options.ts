import { InvalidArgumentError, Option, type Command } from 'commander';

import { wholeNumber } from '../output/client-command.ts';
import { given } from '../output/list-options.ts';
import type { Requirements } from '../output/wire.ts';

const COUNT_MAX = 1_000;
const CPU_MAX = 4_096;
const MEMORY_MIB_MAX = 67_108_864;

/** Requirements for runners on the command line. */
export interface RequirementOptions {
  class: string;
  usage: 'on-demand' | 'spot';
  count: number;
  type?: string[];
  cpu?: number;
  memory?: string;
  memoryMib?: number;
}

/** Adds the options that select runners. */
export function withRequirements(command: Command): Command {
  return command
    .requiredOption('--class <name>', 'Resource class, listed by `heddle pool classes`')
    .addOption(new Option('--usage <class>', 'Usage class').choices(['on-demand', 'spot']).default('on-demand'))
    .option('--count <n>', 'Number of runners', wholeNumber(1, COUNT_MAX), 1)
    .option('--type <patterns...>', "Acceptable instance types, such as 'm7i.*'; any by default")
    .option('--cpu <n>', 'Minimum virtual CPUs', wholeNumber(1, CPU_MAX))
    .addOption(new Option('--memory <amount>', 'Minimum memory, such as 4GiB').conflicts('memoryMib'))
    .option('--memory-mib <n>', 'Minimum memory in MiB', wholeNumber(1, MEMORY_MIB_MAX));
}

export function requirementsOf(options: RequirementOptions): Requirements {
  const { usage, count, type, cpu, memory, memoryMib } = options;
  return {
    resource_class: options.class,
    usage_class: usage,
    count,
    ...given({ allowed_instance_types: type, cpu, memory, memory_mib: memoryMib }),
  };
}

/** Parses a duration in seconds, `90`, or with a unit: `90s`, `15m`, `2h`. */
export function secondsOf(text: string): number {
  const match = /^(\d{1,7})(s|m|h)?$/.exec(text);
  const value = match === null ? 0 : Number(match[1]) * { s: 1, m: 60, h: 3_600 }[(match[2] ?? 's') as 's' | 'm' | 'h'];
  if (value > 0) return value;
  throw new InvalidArgumentError('It must be a duration such as 90s, 15m or 2h.');
}
