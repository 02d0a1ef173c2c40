import { InvalidArgumentError, Option, type Command } from 'commander';

import type { Setting, ValuesOf } from '../setting.ts';

export type SettingGroup = Readonly<Record<string, Setting<unknown>>>;

/** Adds a group of the help with an option for each setting that has a flag. */
export function addOptionGroup(command: Command, title: string, group: SettingGroup): Command {
  command.optionsGroup(`${title}:`);
  for (const setting of Object.values(group)) if (setting.flag !== null) command.addOption(new SettingOption(setting));
  return command;
}

/** Returns the values of a group from the options of a command; those not given have their defaults. */
export function valuesOf<Group extends SettingGroup>(group: Group, options: object): ValuesOf<Group> {
  const given = options as Readonly<Record<string, unknown>>;
  const values = Object.entries(group).map(([key, { name, fallback }]) => [key, given[name] ?? fallback] as const);
  return Object.fromEntries(values) as ValuesOf<Group>;
}

/** An option whose value commander keeps by the name of its setting. A flag that may be repeated collects its values. */
class SettingOption extends Option {
  readonly #name: string;

  constructor(setting: Setting<unknown>) {
    const { name, flag, description, fallback, fallbackText, allowed, words } = setting;
    const hasText = flag!.includes('<') && fallbackText !== '';
    super(flag!, hasText ? `${description} (default: ${fallbackText})` : description);
    this.#name = name;
    if (!this.required) return;
    this.argParser((text: string, before: unknown) => {
      const parsed = setting.parse(text);
      if (parsed === null) throw new InvalidArgumentError(`It must be ${allowed}.`);
      if (!Array.isArray(fallback)) return parsed.value;
      return [...((before ?? []) as unknown[]), ...(parsed.value as unknown[])];
    });
    if (words !== undefined) this.choices(words);
  }

  override attributeName(): string {
    return this.#name;
  }
}
