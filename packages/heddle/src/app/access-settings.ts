import * as kind from './setting.ts';

/** Settings that decide which requests the server answers. */
export const ACCESS_SETTINGS = {
  requireTokens: kind.onOff({
    name: 'HEDDLE_REQUIRE_TOKENS',
    fallback: false,
    description:
      'Require bearer tokens on loopback too (behind a proxy, for example); beyond loopback they are always required',
  }),
  allowedRequestHosts: kind.list({
    name: 'HEDDLE_ALLOWED_HOSTS',
    fallback: [],
    fallbackText: '-',
    description:
      'Additional host names accepted by a loopback listener without tokens (server and executor), comma-separated; loopback names and the host of `HOST_URL` are always accepted',
  }),
  trustedProxies: kind.cidrList({
    name: 'HEDDLE_TRUSTED_PROXIES',
    fallback: [],
    fallbackText: '-',
    description:
      'Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed, addresses or ranges, comma-separated: for the addresses of callers, and cookies that need HTTPS',
  }),
  metricsPublic: kind.onOff({
    name: 'HEDDLE_METRICS_PUBLIC',
    fallback: true,
    description: 'Serve `/metrics` without a token',
  }),
} as const;

const DAY_SECS = 86_400;

/** Settings of logins of browsers. */
export const LOGIN_SETTING_GROUPS = {
  Login: {
    sessionIdleSecs: kind.integer({
      name: 'HEDDLE_SESSION_IDLE_SECS',
      fallback: 12 * 3_600,
      min: 60,
      max: 365 * DAY_SECS,
      description: 'Time without use after which the login of a browser ends; an open page of the console uses it',
    }),
    sessionMaxSecs: kind.integer({
      name: 'HEDDLE_SESSION_MAX_SECS',
      fallback: 7 * DAY_SECS,
      min: 60,
      max: 365 * DAY_SECS,
      description: 'Time after which the login of a browser ends in any case',
    }),
  },
} as const;
