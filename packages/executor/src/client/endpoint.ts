import { isLoopbackHost } from '@heddle/base/net/classify';
import { PROTOCOLS } from '../protocol/messages.ts';
import type { Endpoint } from './port.ts';

const FORMS = 'grpc://HOST:PORT, xmlrpc://HOST:PORT or tcp://HOST:PORT';

/** Parses the URL of an endpoint. @throws TypeError that says what is wrong with it */
export function parseEndpoint(text: string): Endpoint {
  const url = URL.parse(text);
  const [name = '', variant] = (url?.protocol ?? '').replace(/:$/, '').split('+', 2);
  const protocol = PROTOCOLS.find((each) => each === name);
  if (url === null || protocol === undefined || (variant !== undefined && variant !== 'plain')) {
    throw new TypeError(`an endpoint must be ${FORMS} (got ${JSON.stringify(text)})`);
  }
  const { hostname, port, username, password, pathname, search, hash } = url;
  if (hostname === '' || port === '') throw new TypeError(`the endpoint ${text} must name a host and a port: ${FORMS}`);
  if (username + password + search + hash !== '' || !['', '/'].includes(pathname)) {
    throw new TypeError(`the endpoint ${protocol}://${url.host} must not have a user, or anything after its port`);
  }
  const tls = variant === undefined;
  if (!tls && !isLoopbackHost(hostname)) {
    throw new TypeError(
      `the endpoint ${text} has no TLS, which is allowed on loopback only; use ${protocol}://${url.host}`,
    );
  }
  return { protocol, host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port), tls };
}

/** Returns the canonical URL of an endpoint. */
export function endpointUrl({ protocol, host, port, tls }: Endpoint): string {
  return `${protocol}${tls ? '' : '+plain'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
