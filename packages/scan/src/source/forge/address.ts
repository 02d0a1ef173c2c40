import type { SourceSpec } from '../../options.ts';

export type ForgeSpec = Extract<SourceSpec, { type: 'github' | 'gitlab' }>;
export type ForgeType = ForgeSpec['type'];

/** Where a forge is. Neither address ends with a slash. */
export interface ForgeAddress {
  /** `https://api.github.com`, `https://gitlab.example.com/api/v4`. */
  api: string;
  /** Of its pages and repositories: `https://github.com`. */
  web: string;
}

export const FORGE_NAMES: Readonly<Record<ForgeType, string>> = { github: 'GitHub', gitlab: 'GitLab' };
export const FORGE_TOKENS = { github: 'GITHUB_TOKEN', gitlab: 'GITLAB_TOKEN' } as const;

const PUBLIC: Readonly<Record<ForgeType, ForgeAddress>> = {
  github: { api: 'https://api.github.com', web: 'https://github.com' },
  gitlab: { api: 'https://gitlab.com/api/v4', web: 'https://gitlab.com' },
};
const API_PATHS: Readonly<Record<ForgeType, string>> = { github: '/api/v3', gitlab: '/api/v4' };

/**
 * Returns the addresses of a forge, from that of its API or of its pages. Null if it is not usable: a token may only be
 * sent with TLS, or within this machine.
 */
export function forgeAddress(type: ForgeType, endpoint: string | undefined): ForgeAddress | null {
  if (endpoint === undefined) return PUBLIC[type];
  const url = URL.parse(endpoint);
  if (url === null || url.username + url.password + url.search + url.hash !== '') return null;
  if (url.protocol !== 'https:' && (url.protocol !== 'http:' || !isThisMachine(url.hostname))) return null;
  const given = `${url.origin}${url.pathname}`.replace(/\/+$/, '');
  const known = Object.values(PUBLIC[type]).includes(given);
  if (known) return PUBLIC[type];
  const path = API_PATHS[type];
  if (given.endsWith(path)) return { api: given, web: given.slice(0, -path.length) };
  // GitHub Enterprise Cloud with data residency.
  if (type === 'github' && url.hostname.endsWith('.ghe.com')) {
    const web = given.replace('://api.', '://');
    return { api: web.replace('://', '://api.'), web };
  }
  return { api: `${given}${path}`, web: given };
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** Returns an address without its scheme, for paths in findings. */
export function withoutScheme(address: string): string {
  return address.replace(/^https?:\/\//, '');
}
