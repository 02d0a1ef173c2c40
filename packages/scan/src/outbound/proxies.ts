/** The proxies that the environment names: the values of HTTPS_PROXY and NO_PROXY. */
export interface Proxies {
  readonly proxy: string | null;
  readonly noProxy: string;
}

export const NO_PROXIES: Proxies = { proxy: null, noProxy: '' };

/** Reads the proxies that the environment names. Null if its proxy is none of HTTP: no request may go around it. */
export function proxiesOf(environment: Readonly<Record<string, string | undefined>>): Proxies | null {
  const value = (name: string): string => environment[name.toLowerCase()] ?? environment[name] ?? '';
  const given = value('HTTPS_PROXY');
  const proxy = given === '' || given.includes('://') ? given : `http://${given}`;
  if (proxy !== '' && !isHttp(proxy)) return null;
  return { proxy: proxy === '' ? null : proxy, noProxy: value('NO_PROXY') };
}

export function isHttp(url: string): boolean {
  return /^https?:$/.test(URL.parse(url)?.protocol ?? '');
}
