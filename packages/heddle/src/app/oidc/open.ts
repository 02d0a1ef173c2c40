import { readFile } from 'node:fs/promises';

import type * as Client from 'openid-client';
import { fetch } from 'undici';

import type { Clock } from '@heddle/base/clock';
import { HeddleError } from '@heddle/base/errors';
import type { Logger } from '@heddle/base/log';
import { isLoopbackHost } from '@heddle/base/net/classify';
import { bareHost, parseAddress } from '@heddle/base/net/address';
import type { Random } from '@heddle/base/random';
import { CommandFailure } from '@heddle/base/terminal/failure';
import { createGuardedAgent } from '@heddle/base/outbound/guarded-agent';
import { SsrfGuard, type SsrfPolicy } from '@heddle/base/outbound/ssrf';
import type { IdentityProvider } from '../../http/ports.ts';
import type { SettingValues } from '../settings.ts';
import type { StopSequence } from '../stop-sequence.ts';
import { OidcProvider } from './provider.ts';
import { parseRoleMapping } from './role-mapping.ts';

const CONNECTIONS = 8;
const CONNECT_TIMEOUT_MS = 5_000;
const RESPONSE_BYTES_MAX = 1024 * 1024;

interface Parts {
  clock: Clock;
  random: Random;
  log: Logger;
  stopping: StopSequence;
}

/** Returns the provider that users log in at; null if none is configured. It is asked when the first user logs in. */
export async function openIdentityProvider(
  settings: SettingValues,
  policy: SsrfPolicy,
  { clock, random, log, stopping }: Parts,
): Promise<IdentityProvider | null> {
  const { oidcIssuer: issuer } = settings;
  if (issuer === null) return null;
  const client = await load();
  const agent = createGuardedAgent({
    guard: new SsrfGuard(allowing(issuer, policy)),
    connectionsPerOrigin: CONNECTIONS,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    responseBytesMax: RESPONSE_BYTES_MAX,
  });
  stopping.add('the connections to the identity provider', () => agent.destroy());
  return new OidcProvider({
    client,
    issuer,
    label: settings.oidcLabel,
    clientId: settings.oidcClientId,
    clientSecret: () => secretOf(settings),
    scopes: settings.oidcScopes,
    roles: parseRoleMapping(settings.oidcRoles)!,
    fetch: (url, options) => fetch(url, { ...options, body: options.body ?? null, dispatcher: agent }),
    clock,
    random,
    log,
  });
}

async function load(): Promise<typeof Client> {
  try {
    return await import('openid-client');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new CommandFailure('HEDDLE_OIDC_ISSUER needs a package: npm install openid-client', { cause: error });
  }
}

/** The operator chose the issuer, so it may be anywhere; what it refers to may be where webhooks may go. */
function allowing(issuer: string, policy: SsrfPolicy): SsrfPolicy {
  const host = bareHost(new URL(issuer).hostname);
  const isAddress = parseAddress(host) !== null;
  return {
    ...policy,
    allowLoopback: policy.allowLoopback || isLoopbackHost(host),
    allowedHosts: isAddress ? policy.allowedHosts : [...policy.allowedHosts, host],
    allowedCidrs: isAddress ? [...policy.allowedCidrs, host] : policy.allowedCidrs,
  };
}

async function secretOf({ oidcClientSecret, oidcClientSecretFile }: SettingValues): Promise<string | null> {
  if (oidcClientSecretFile === '') return oidcClientSecret === '' ? null : oidcClientSecret;
  try {
    return (await readFile(oidcClientSecretFile, 'utf8')).trim();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new HeddleError('INTERNAL', `HEDDLE_OIDC_CLIENT_SECRET_FILE cannot be read (${code})`, { cause: error });
  }
}
