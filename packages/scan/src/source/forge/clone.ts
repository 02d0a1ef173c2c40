import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { systemClock } from '@heddle/base/clock';
import { bytesText } from '../../archive/context.ts';
import { startGit } from '../git/command.ts';

/** How often the size of a clone under way is measured. */
const MEASURE_MS = 500;
/** A transfer without a byte for this long is ended. */
const SILENCE_SECONDS_MAX = 300;

export interface CloneOptions {
  url: string;
  /** Does not exist yet; its parent does. */
  directory: string;
  /** Header of requests to this server only; it is in no argument and no file. */
  authorization: string | null;
  proxy: string | null;
  bytesMax: number;
  signal: AbortSignal;
}

/**
 * Clones all references of a repository, without files. Redirects are not followed, and neither the configuration of
 * the user nor that of the system is read, which could lead to other servers and programs.
 *
 * @throws Error with the reason
 */
export async function cloneRepository(options: CloneOptions): Promise<void> {
  const { url, directory, bytesMax, signal } = options;
  const args = ['clone', '--mirror', '--quiet', '--template=', '--', url, directory];
  const child = startGit(dirname(directory), args, variablesOf(options), { name: url, hasHelpers: true });
  child.process.stdin.end();
  child.process.stdout.resume();
  const size = { isExceeded: false };
  const stop = (): void => void child.stop();
  const measure = (): void => {
    size.isExceeded ||= bytesBelow(directory) > bytesMax;
    if (size.isExceeded) stop();
  };
  let cancel = (): void => undefined;
  const watch = (): void => {
    measure();
    cancel = systemClock.after(MEASURE_MS, watch);
  };
  watch();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const failure = await child.ended;
    measure();
    if (size.isExceeded) throw new Error(`${url} has more than ${bytesText(bytesMax)}; raise --clone-size to scan it`);
    if (signal.aborted) throw new Error('the scan was stopped');
    if (failure !== null) throw new Error(failure);
  } finally {
    cancel();
    signal.removeEventListener('abort', stop);
  }
}

function variablesOf({ url, authorization, proxy }: CloneOptions): Record<string, string | undefined> {
  const { protocol, origin } = new URL(url);
  const settings: [key: string, value: string][] = [
    ['http.followRedirects', 'false'],
    ['http.lowSpeedLimit', '1'],
    ['http.lowSpeedTime', String(SILENCE_SECONDS_MAX)],
    // Empty: none, whatever other variables say.
    ['http.proxy', proxy ?? ''],
    ['credential.helper', ''],
    ...(authorization === null
      ? []
      : [[`http.${origin}/.extraHeader`, `Authorization: ${authorization}`] as [string, string]]),
  ];
  const pairs = settings.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return {
    GIT_ALLOW_PROTOCOL: protocol.slice(0, -1),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_COUNT: String(settings.length),
    // Its messages are shown to the user, so they have to be short.
    GIT_TRACE: undefined,
    GIT_TRACE_CURL: undefined,
    GIT_CURL_VERBOSE: undefined,
    ...Object.fromEntries(pairs as [string, string][]),
  };
}

/** Files come and go while git writes them. */
function bytesBelow(directory: string): number {
  const names = (() => {
    try {
      return readdirSync(join(directory, 'objects/pack'));
    } catch {
      return [];
    }
  })();
  return names.reduce(
    (sum, name) => sum + (statSync(join(directory, 'objects/pack', name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}
