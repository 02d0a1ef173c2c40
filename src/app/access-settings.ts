import * as kind from './setting.ts';

/** Whose requests are answered. */
export const ACCESS_SETTINGS = {
  requireTokens: kind.onOff({
    name: 'HEDDLE_REQUIRE_TOKENS',
    fallback: false,
    description:
      'Whether bearer tokens are required on loopback too (behind a proxy, say); beyond loopback they always are',
  }),
  allowedRequestHosts: kind.list({
    name: 'HEDDLE_ALLOWED_HOSTS',
    fallback: [],
    fallbackText: '-',
    description:
      'Names by which requests may call a listener on loopback that asks for no token (server and executor), comma-separated, beside those of loopback and that of `HOST_URL`',
  }),
  metricsPublic: kind.onOff({
    name: 'HEDDLE_METRICS_PUBLIC',
    fallback: true,
    description: 'Whether `/metrics` answers without a token',
  }),
} as const;
