import { isLoopbackHost } from '@heddle/base/net/classify';
import { isTokenLive } from '@heddle/core/domain/token';
import type { Clock } from '@heddle/base/clock';
import type { Random } from '@heddle/base/random';
import type { Database } from '@heddle/core/store/database';
import { SessionStore } from '@heddle/core/store/sessions';
import type { TokenStore } from '@heddle/core/store/tokens';
import { CommandFailure } from '@heddle/base/terminal/failure';
import type { SettingValues } from './settings.ts';

/**
 * Returns whether requests need a token or a login: always beyond loopback.
 * @throws CommandFailure if they do and no one could log in: the database has no token, and there is no identity provider
 */
export async function requireTokens(settings: SettingValues, tokens: TokenStore, clock: Clock): Promise<boolean> {
  const { host } = settings;
  const beyondLoopback = !isLoopbackHost(host);
  if (!beyondLoopback && !settings.requireTokens) return false;
  // Users can log in without a token.
  if (settings.oidcIssuer !== null) return true;
  const now = clock.now();
  if ((await tokens.list()).some((token) => isTokenLive(token, now))) return true;
  const why = beyondLoopback ? `HOST=${host} listens beyond loopback` : 'HEDDLE_REQUIRE_TOKENS is on';
  throw new CommandFailure(
    `${why}, which requires bearer tokens, and none exists yet: ` +
      'create one with `heddle token create --name NAME --scope admin`, configure an identity provider (HEDDLE_OIDC_ISSUER)' +
      (beyondLoopback ? ', or listen on loopback (HOST=127.0.0.1)' : ''),
  );
}

/** The logins of browsers. */
export function sessionsOf(
  { sessionIdleSecs, sessionMaxSecs }: SettingValues,
  parts: { database: Database; clock: Clock; random: Random },
): SessionStore {
  const { database, clock, random } = parts;
  return new SessionStore({
    database,
    clock,
    random,
    idleMs: sessionIdleSecs * 1000,
    maxMs: sessionMaxSecs * 1000,
  });
}
