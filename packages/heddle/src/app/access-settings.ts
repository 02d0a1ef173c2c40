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
  metricsPublic: kind.onOff({
    name: 'HEDDLE_METRICS_PUBLIC',
    fallback: true,
    description: 'Serve `/metrics` without a token',
  }),
} as const;
