import { SsrfGuard, STRICT_SSRF_POLICY, type SsrfPolicy } from '@heddle/base/outbound/ssrf';
import { duration, integer, optionalText, setting, type ValuesOf } from '@heddle/base/setting';
import { isHttp, type Proxies } from '../outbound/proxies.ts';

/** The address of a verification in place of its own: `gitlab=https://gitlab.example.com`. */
export interface VerifyEndpoint {
  name: string;
  url: string;
}

const ENDPOINT = /^([A-Za-z0-9_.-]+)=(https?:\/\/\S+)$/;

/** How secrets are verified. Flags of commands, and settings of workers, derive from these declarations. */
export const VERIFY_OPTIONS = {
  ratePerSecond: integer({
    flag: '--verify-rate <count>',
    fallback: 5,
    min: 1,
    max: 1000,
    description: 'Maximum requests per second to one host that verify secrets',
  }),
  timeoutMs: duration({
    flag: '--verify-timeout <time>',
    fallback: 10_000,
    min: 100,
    max: 120_000,
    description: 'Timeout of a request that verifies a secret',
  }),
  endpoints: setting<readonly VerifyEndpoint[]>(
    {
      flag: '--verify-endpoint <name=url>',
      description: 'Address of a verification in place of its own, such as of a self-hosted GitLab; may be repeated',
      fallback: [],
    },
    {
      allowed: 'a verification and its address, such as gitlab=https://gitlab.example.com',
      parse: (given) => {
        const [, name, url = ''] = ENDPOINT.exec(given) ?? [];
        const parsed = URL.parse(url);
        const isPlain = parsed !== null && parsed.username + parsed.password + parsed.search + parsed.hash === '';
        return name === undefined || !isPlain ? null : { value: [{ name, url: url.replace(/\/+$/, '') }] };
      },
      show: (endpoints) => endpoints.map(({ name, url }) => `${name}=${url}`).join(' '),
    },
  ),
  allow: setting<readonly string[]>(
    {
      flag: '--verify-allow <host>',
      description: 'Host name, .suffix or range of internal addresses that requests may go to; may be repeated',
      fallback: [],
    },
    {
      allowed: 'a host name, a suffix such as .internal.example.com, or a range such as 10.1.0.0/16',
      parse: (given) => (given === '' || !isAllowable(given) ? null : { value: [given] }),
      show: (hosts) => hosts.join(' '),
    },
  ),
  proxy: optionalText('--verify-proxy <url>', 'HTTP proxy of these requests (default HTTPS_PROXY, except NO_PROXY)', {
    allowed: 'an http or https address such as http://proxy.example.com:3128',
    check: isHttp,
  }),
};

/** Options of verification, and the proxies of the environment. */
export interface VerifyOptions extends ValuesOf<typeof VERIFY_OPTIONS> {
  /** Used if there is no `proxy`. */
  readonly environment: Proxies;
}

/** Public addresses, and what the user allows besides. */
export function policyOf({ allow }: Pick<VerifyOptions, 'allow'>): SsrfPolicy {
  const isRange = (text: string): boolean => /^[0-9.]+(?:\/\d+)?$|:/.test(text);
  return {
    ...STRICT_SSRF_POLICY,
    allowedHosts: allow.filter((each) => !isRange(each)),
    allowedCidrs: allow.filter(isRange),
    words: {
      callers: 'verifications',
      blockList: 'the list of blocked host names',
      remedy: '--verify-allow allows it, or HEDDLE_VERIFY_ALLOW on a worker',
    },
  };
}

function isAllowable(text: string): boolean {
  try {
    return new SsrfGuard(policyOf({ allow: [text] })) instanceof SsrfGuard;
  } catch {
    return false;
  }
}
