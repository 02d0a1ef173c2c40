import {
  isTokenLive,
  isTokenScope,
  TOKEN_NAME,
  TOKEN_NAME_MAX_CHARS,
  TOKEN_SCOPES,
  type TokenScope,
} from '@heddle/core/domain/token';
import { systemClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import { webhookSecretText } from '@heddle/base/signing';
import { SecretStore } from '@heddle/core/store/secrets';
import { TokenStore, type TokenLimits } from '@heddle/core/store/tokens';
import { tokenToWire, type CreatedTokenDto, type TokenDto } from '../http/wire/token.ts';
import { commandRecorder, type CommandRecorder } from './command-recorder.ts';
import type { Configuration } from './config.ts';
import { withDatabase } from './database-access.ts';
import { CommandFailure, EXIT } from '@heddle/base/terminal/failure';
import { commandLog } from './process-log.ts';

const DURATION = /^(\d{1,6})([smhdw])$/;
const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** Parses `90d`, `12h`, `30m`, `45s` or `2w` to milliseconds; returns null for anything else. */
export function parseDuration(text: string): number | null {
  const [, count, unit] = DURATION.exec(text.trim()) ?? [];
  return count === undefined ? null : Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
}

function usage(message: string): CommandFailure {
  return new CommandFailure(message, { exitCode: EXIT.usage });
}

/** Returns the time given as `90d` or `2030-01-31`, milliseconds since the epoch. */
function parseExpiry(text: string, nowMs: number): number {
  const durationMs = parseDuration(text);
  const at = durationMs === null ? Date.parse(text) : nowMs + durationMs;
  if (Number.isNaN(at) || at <= nowMs) {
    throw usage(`--expires: must be a future time such as 90d, 12h or 2030-01-31, not ${JSON.stringify(text)}`);
  }
  return at;
}

function parseScopes(scopes: readonly string[]): TokenScope[] {
  const words = scopes.flatMap((each) => each.split(',')).map((each) => each.trim());
  const wrong = words.find((word) => !isTokenScope(word));
  if (wrong !== undefined) throw usage(`--scope: must be of ${TOKEN_SCOPES.join(', ')}, not ${JSON.stringify(wrong)}`);
  return words as TokenScope[];
}

const NAME = new RegExp(TOKEN_NAME, 'u');

function parseName(name: string): string {
  if (NAME.test(name) && name.length <= TOKEN_NAME_MAX_CHARS) return name;
  throw usage(
    `--name: must be 1 to ${TOKEN_NAME_MAX_CHARS} characters, no control characters and no space at its ends, not ${JSON.stringify(name.slice(0, 80))}`,
  );
}

export async function createToken(
  configuration: Configuration,
  asked: TokenLimits & { name: string; scopes: readonly string[]; expires: string | undefined },
): Promise<CreatedTokenDto> {
  const name = parseName(asked.name);
  const scopes = parseScopes(asked.scopes);
  const expiresAt = asked.expires === undefined ? null : parseExpiry(asked.expires, systemClock.now());
  return withTokens(configuration, true, async (store, record) => {
    const { text, token } = await store.create(name, scopes, expiresAt, asked);
    await record('token create', `${token.id} ${name} ${scopes.join(',')}`);
    return { ...tokenToWire(token, systemClock.now()), token: text };
  });
}

export function listTokens(configuration: Configuration): Promise<TokenDto[]> {
  return withTokens(configuration, false, async (store) =>
    (await store.list()).map((token) => tokenToWire(token, systemClock.now())),
  );
}

/** Revokes by id, or by the name of one live token. Servers apply it within seconds. */
export function revokeToken(configuration: Configuration, idOrName: string): Promise<TokenDto> {
  return withTokens(configuration, false, async (store, record) => {
    const all = await store.list();
    const live = all.filter((token) => isTokenLive(token, systemClock.now()));
    const byId = all.find(({ id }) => id === idOrName.toLowerCase());
    const named = byId === undefined ? live.filter(({ name }) => name === idOrName) : [byId];
    const [token] = named;
    if (token === undefined) throw new CommandFailure(`No such token: ${JSON.stringify(idOrName)}`);
    if (named.length > 1) {
      throw new CommandFailure(
        `${named.length} live tokens are named ${JSON.stringify(idOrName)}: revoke one by its id`,
      );
    }
    const revoked = (await store.revoke(token.id)) ?? token;
    await record('token revoke', `${token.id} ${token.name}`);
    return tokenToWire(revoked, systemClock.now());
  });
}

/** Returns the keys that sign webhooks, the current one first, in the form that receivers use. */
export function webhookSigningKeys(configuration: Configuration): Promise<string[]> {
  const { webhookSecrets } = configuration.values;
  if (webhookSecrets.length > 0) return Promise.resolve(webhookSecrets.map(webhookSecretText));
  return withSecrets(configuration, async (secrets) => (await secrets.keys('webhook')).map(webhookSecretText));
}

/** Creates a new signing key; the older ones also sign for the duration of `overlap`. */
export function rotateSigningKey(configuration: Configuration, overlap: string): Promise<string[]> {
  const overlapMs = parseDuration(overlap);
  if (overlapMs === null) throw usage(`--overlap: must be a time such as 24h or 7d, not ${JSON.stringify(overlap)}`);
  if (configuration.values.webhookSecrets.length > 0) {
    throw usage('HEDDLE_WEBHOOK_SECRETS sets the keys: to rotate, put a new one first and remove the old one later');
  }
  return withSecrets(configuration, async (secrets, record) => {
    await secrets.rotate('webhook', overlapMs);
    await record('keys rotate', 'webhook');
    return (await secrets.keys('webhook')).map(webhookSecretText);
  });
}

function withSecrets<T>(
  { values }: Configuration,
  run: (secrets: SecretStore, record: CommandRecorder) => Promise<T>,
): Promise<T> {
  const log = commandLog(values);
  return withDatabase({ settings: values, log, create: true }, (database) =>
    run(new SecretStore({ database, clock: systemClock, random: systemRandom }), commandRecorder(database)),
  );
}

function withTokens<T>(
  { values }: Configuration,
  create: boolean,
  run: (store: TokenStore, record: CommandRecorder) => Promise<T>,
): Promise<T> {
  const log = commandLog(values);
  return withDatabase({ settings: values, log, create }, (database) =>
    run(new TokenStore({ database, clock: systemClock, random: systemRandom }), commandRecorder(database)),
  );
}
