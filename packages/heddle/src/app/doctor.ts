import { existsSync } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { silentLogger } from '@heddle/base/log';
import { isLoopbackHost } from '@heddle/base/net/classify';
import { messageOf } from '@heddle/base/thrown';
import { provideBinaries } from '@heddle/core/store/embedded/binaries';
import { fail, ok, warn, type Check } from './check.ts';
import { configurationOfProcess, type Configuration } from './config.ts';
import { withDatabaseUrl } from './database-access.ts';
import { checkArtifacts } from './doctor-artifacts.ts';
import { checkCommands } from './doctor-commands.ts';
import { checkDatabase } from './doctor-database.ts';
import { checkSecretKeys } from './doctor-secrets.ts';
import { findRunningDatabase, hasDatabase } from './embedded.ts';
import { ConfigurationError, userMessageOf } from '@heddle/base/terminal/failure';
import { listenFailure, localUrl, probePort } from './listener.ts';
import { isNodeSupported } from '@heddle/base/package-manifest';
import { NODE_MIN, pageDirectory } from './package.ts';
import type { SettingValues } from './settings.ts';

const PROBE_TIMEOUT_MS = 2_000;

/** `heddle doctor`: checks everything that a start needs. It changes nothing but a test of the artifacts, which it removes. */
export async function examine(flags: Readonly<Record<string, string | undefined>>): Promise<Check[]> {
  const checks = [checkNode()];
  let configuration: Configuration;
  try {
    configuration = configurationOfProcess(flags);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const faults = error.faults.map((fault) =>
      fail('settings', fault, 'correct it; `heddle config` shows the effective settings'),
    );
    return [...checks, ...faults];
  }
  const { values } = configuration;
  checks.push(...checkSettings(configuration));
  if (values.databaseUrl === null) checks.push(await checkDataDirectory(values.dataDir), await checkBinaries());
  checks.push(...(await checkDatabaseOf(values)));
  checks.push(...(await checkArtifacts(values)), ...(await checkCommands(values)));
  checks.push(await checkPort(values), checkPage(), ...checkWebhooks(values));
  return checks;
}

function checkNode(): Check {
  const { node } = process.versions;
  if (isNodeSupported(node, NODE_MIN)) return ok('Node.js', `${node} (${process.execPath})`);
  return fail('Node.js', `${node} is too old`, `install Node ${NODE_MIN} or newer`);
}

function checkSettings({ effective, file, unknownVariables }: Configuration): Check[] {
  const changed = effective.filter(({ source }) => source !== 'default').length;
  const unknown = unknownVariables.map((name) =>
    warn('settings', `${name} is set, but is not a setting`, 'check its spelling: `heddle config` lists all settings'),
  );
  return [
    ok('settings', `valid, ${changed} changed from their default${file === null ? '' : `, file ${file}`}`),
    ...unknown,
  ];
}

async function checkDataDirectory(dataDir: string): Promise<Check> {
  const name = 'data directory';
  const there = existsSync(dataDir);
  let nearest = dataDir;
  while (!existsSync(nearest)) nearest = dirname(nearest);
  const remedy = 'give this user write permission, or set HEDDLE_DATA_DIR';
  try {
    await access(nearest, constants.W_OK | constants.X_OK);
  } catch {
    return fail(name, `${nearest} is not writable`, remedy);
  }
  const secret = await stat(join(dataDir, 'secret')).catch(() => null);
  if (secret !== null && (secret.mode & 0o077) !== 0) {
    return fail(name, `${join(dataDir, 'secret')} is readable by other users`, `chmod 600 ${join(dataDir, 'secret')}`);
  }
  return ok(name, there ? dataDir : `${dataDir} (created at the first start)`);
}

async function checkBinaries(): Promise<Check> {
  try {
    const { version } = await provideBinaries({ account: undefined, log: silentLogger });
    return ok('embedded PostgreSQL', version);
  } catch (error) {
    const message = userMessageOf(error) ?? String(error);
    return fail('embedded PostgreSQL', message, 'run npm install with optional dependencies, or set DATABASE_URL');
  }
}

async function checkDatabaseOf(settings: SettingValues): Promise<Check[]> {
  const { databaseUrl, dataDir } = settings;
  if (databaseUrl === null && !(await hasDatabase(dataDir))) {
    return [ok('database', 'none yet; the first `heddle up` creates it'), await checkSecretKeys(settings, null)];
  }
  const running = databaseUrl === null ? await findRunningDatabase(dataDir) : null;
  try {
    return await withDatabaseUrl({ settings, log: silentLogger, create: false }, (url) =>
      checkDatabase(url, settings, running),
    );
  } catch (error) {
    const message = userMessageOf(error) ?? String(error);
    return [
      fail('database', message, databaseUrl === null ? 'see postgres.log in the data directory' : 'check DATABASE_URL'),
    ];
  }
}

async function checkPort({ host, port }: SettingValues): Promise<Check> {
  const name = 'port';
  try {
    await probePort(host, port);
    return ok(name, port === 0 ? 'any free port' : `${port} on ${host} is free`);
  } catch (error) {
    const failure = listenFailure(error, host, port);
    const url = localUrl(host, port);
    if (await isHeddle(url)) return ok(name, `a Heddle answers at ${url}`);
    const message = messageOf(failure);
    return fail(name, message, 'set PORT or HOST');
  }
}

async function isHeddle(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    const answer = (await response.json()) as { database?: unknown; version?: unknown };
    return answer.database !== undefined && answer.version !== undefined;
  } catch {
    return false;
  }
}

function checkPage(): Check {
  if (existsSync(join(pageDirectory(), 'index.html'))) return ok('page', pageDirectory());
  return warn('page', 'is not built; the API works without it', 'node scripts/build-page.ts');
}

function checkWebhooks(settings: SettingValues): Check[] {
  const { hostUrl, host, skipSsrfValidation } = settings;
  const name = 'webhooks';
  const checks: Check[] = [];
  if (skipSsrfValidation) {
    checks.push(
      warn(
        name,
        'may call any address, including internal ones',
        'unset SKIP_SSRF_VALIDATION and list the required hosts in HEDDLE_ALLOWED_WEBHOOK_HOSTS',
      ),
    );
  }
  const answered = hostUrl === null ? null : new URL(hostUrl);
  if (!isLoopbackHost(host) && (answered === null || isLoopbackHost(answered.hostname))) {
    const message = `targets on other machines cannot respond to ${hostUrl ?? 'loopback'}`;
    checks.push(warn(name, message, 'set HOST_URL to the public URL of this server'));
  } else if (answered?.protocol === 'http:' && !isLoopbackHost(answered.hostname)) {
    checks.push(warn(name, `handles are sent unencrypted to ${answered.origin}`, 'serve HOST_URL over https'));
  }
  const keys = settings.webhookSecrets.length;
  const signed = keys === 0 ? 'a key stored in the database' : `${keys} configured ${keys === 1 ? 'key' : 'keys'}`;
  return checks.length > 0 ? checks : [ok(name, `signed with ${signed}`)];
}
