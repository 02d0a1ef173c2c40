import type { Logger } from '@heddle/base/log';
import type { SsrfPolicy } from '@heddle/base/outbound/ssrf';
import type { SettingValues } from './settings.ts';

/** Returns which addresses webhooks may call. */
export function ssrfPolicy({
  settings,
  development,
  log,
}: {
  settings: SettingValues;
  development: boolean;
  log: Logger;
}): SsrfPolicy {
  if (settings.skipSsrfValidation) log.warn({}, 'webhooks may call any address: SKIP_SSRF_VALIDATION is on');
  else if (development) log.info({}, 'webhooks may call this machine (loopback): running `heddle up`');
  return {
    skipAll: settings.skipSsrfValidation,
    allowLoopback: development,
    blockedHostnames: settings.blockedHostnames,
    blockedSuffixes: settings.blockedSuffixes,
    allowedHosts: settings.allowedHosts,
    allowedCidrs: settings.allowedCidrs,
  };
}
