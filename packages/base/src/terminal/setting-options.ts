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

/** An option whose value commander keeps by the name of its setting. */
class NamedOption extends Option {
  readonly #name: string;

  constructor({ name, flag }: Setting<unknown>, description: string) {
    super(flag!, description);
    this.#name = name;
  }

  override attributeName(): string {
    return this.#name;
  }
}

/** An option with the value of a setting. A flag that may be repeated collects its values. */
class SettingOption extends NamedOption {
  constructor(setting: Setting<unknown>) {
    const { flag, description, fallback, fallbackText, allowed, words } = setting;
    const hasText = flag!.includes('<') && fallbackText !== '';
    super(setting, hasText ? `${description} (default: ${fallbackText})` : description);
    if (!this.required) return;
    this.argParser((text: string, before: unknown) => {
      const parsed = setting.parse(text);
      if (parsed === null) throw new InvalidArgumentError(`It must be ${allowed}.`);
      if (!Array.isArray(fallback)) return parsed.value;
      return [...((before ?? []) as unknown[]), ...(parsed.value as unknown[])];
    });
    if (words !== undefined) this.choices(words);
  }
}

/** Returns an option with the text of a setting, which is parsed along with the environment and the file. */
export function textOption(setting: Setting<unknown>): Option {
  const { name, description, fallback, words } = setting;
  const isList = Array.isArray(fallback);
  const option = new NamedOption(setting, `${description}${isList ? '; may be repeated' : ''} (${name})`);
  if (!option.required) return option.preset('1');
  if (words !== undefined) option.choices(words);
  return option.argParser((text: string, before?: string) => {
    return isList && before !== undefined ? `${before},${text}` : text;
  });
}
