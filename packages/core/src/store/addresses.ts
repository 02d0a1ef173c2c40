/** Parts of a URL: `scheme://user:password@`, the addresses, and the rest. */
const PARTS = /^([a-z]+:\/\/(?:[^@/?]*@)?)([^/?]*)(.*)$/is;

/**
 * Splits a database URL into one URL per address: `postgres://me@one:5432,two:5433/db` has two, and so has
 * `postgres://me@localhost/db?host=one,two&port=5432,5433`, as in libpq. A single port applies to all addresses.
 */
export function databaseAddresses(url: string): string[] {
  const parts = PARTS.exec(url);
  if (parts === null || !/,|%2c/i.test(url)) return [url];
  const [, start = '', authority = '', rest = ''] = parts;
  if (authority.includes(',')) return authority.split(',').map((address) => `${start}${address}${rest}`);
  return addressesOfParameters(url);
}

function addressesOfParameters(url: string): string[] {
  const hosts = URL.parse(url)?.searchParams.get('host')?.split(',') ?? [];
  if (hosts.length < 2) return [url];
  return hosts.map((host, at) => {
    const one = new URL(url);
    one.searchParams.set('host', host);
    const ports = one.searchParams.get('port')?.split(',') ?? [];
    const port = ports[at] ?? ports[0];
    if (port !== undefined) one.searchParams.set('port', port);
    return one.href;
  });
}
