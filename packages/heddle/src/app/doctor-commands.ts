import { HeddleError } from '@heddle/base/errors';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { isLoopbackHost } from '@heddle/base/net/classify';
import { messageOf } from '@heddle/base/thrown';
import type { CommandTier } from '@heddle/executor/execution/commands';
import { fail, ok, type Check } from './check.ts';
import { commandTiersOf, openCommandRunner } from './command-kinds.ts';
import type { SettingValues } from './settings.ts';

const NAME = 'commands';

const REMEDIES: Readonly<Record<CommandTier, string>> = {
  jail: 'install bubblewrap (apt install bubblewrap), and allow user namespaces; or choose another tier in HEDDLE_COMMANDS',
  container:
    'install podman (apt install podman) or docker, let this user run it, or set HEDDLE_COMMAND_ENGINE; or choose another tier in HEDDLE_COMMANDS',
  process: 'run this process on Linux, or choose another tier in HEDDLE_COMMANDS',
};

/** Checks each way to isolate commands that is enabled, by opening what runs them: it runs one. */
export async function checkCommands(settings: SettingValues): Promise<Check[]> {
  // `heddle up` enables the jail by itself, and without DATABASE_URL nothing else can start.
  const jailByDefault = settings.databaseUrl === null && isLoopbackHost(settings.host);
  const tiers = commandTiersOf(settings, jailByDefault);
  if (tiers.length === 0) return [ok(NAME, 'off; HEDDLE_COMMANDS enables them')];
  return Promise.all(tiers.map((tier) => checkTier(tier, settings)));
}

async function checkTier(tier: CommandTier, settings: SettingValues): Promise<Check> {
  try {
    const runner = await openCommandRunner(tier, settings, { clock: systemClock, log: silentLogger });
    await runner.close();
    return ok(NAME, `${tier} works`);
  } catch (error) {
    const details = error instanceof HeddleError ? error.details : [];
    return fail(NAME, `${tier}: ${details.length > 0 ? details.join('; ') : messageOf(error)}`, REMEDIES[tier]);
  }
}
