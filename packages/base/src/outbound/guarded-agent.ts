import { lookup as systemLookup } from 'node:dns/promises';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { Agent, buildConnector } from 'undici';
import { SsrfRefusal } from './ssrf.ts';
import type { SsrfGuard } from './ssrf.ts';

/** Resolves every address of a host name. Rejects like `dns.lookup` if the name is unknown. */
export type ResolveHost = (hostname: string) => Promise<readonly LookupAddress[]>;

export interface GuardedAgentOptions {
  guard: SsrfGuard;
  /** Maximum sockets of one origin. */
  connectionsPerOrigin: number;
  connectTimeoutMs: number;
  /** How long an idle connection is kept unless the target says otherwise. */
  keepAliveMs?: number;
  /** Maximum size of the body of a response; unlimited by default. */
  responseBytesMax?: number;
  /** The system's resolver by default; for tests. */
  resolve?: ResolveHost;
  /** PEM certificates that are trusted in addition to the system's. */
  ca?: string | readonly string[];
}

/** Common servers close idle connections after five seconds without announcing it. */
const KEEP_ALIVE_MS = 4000;

const systemResolve: ResolveHost = (hostname) => systemLookup(hostname, { all: true });

/**
 * Shares one lookup among concurrent requests for the same name, so that a name with slow servers occupies one thread
 * of the system's resolver instead of all. Results are not cached.
 */
function sharingResolver(resolve: ResolveHost): ResolveHost {
  const underWay = new Map<string, Promise<readonly LookupAddress[]>>();
  return (hostname) => {
    let answer = underWay.get(hostname);
    if (answer === undefined) {
      answer = resolve(hostname).finally(() => underWay.delete(hostname));
      underWay.set(hostname, answer);
    }
    return answer;
  };
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/**
 * A `lookup` for `net.connect`: the socket connects to the addresses checked here without another lookup, which defeats
 * DNS rebinding. One forbidden address rejects the whole name.
 */
function guardedLookup(guard: SsrfGuard, resolve: ResolveHost) {
  return (hostname: string, options: LookupOptions, callback: LookupCallback): void => {
    const answered = (addresses: readonly LookupAddress[]): void => {
      for (const { address } of addresses) {
        const refusal = guard.refuseResolved(address, hostname);
        if (refusal !== null) {
          callback(new SsrfRefusal(refusal), []);
          return;
        }
      }
      const wanted = options.family === 4 || options.family === 6 ? options.family : 0;
      const usable = addresses.filter(({ family }) => wanted === 0 || family === wanted);
      const [first] = usable;
      if (first === undefined) {
        callback(Object.assign(new Error(`no address for ${hostname}`), { code: 'ENOTFOUND' }), []);
        return;
      }
      if (options.all === true) callback(null, [...usable]);
      else callback(null, first.address, first.family);
    };
    resolve(hostname).then(answered, (error: unknown) => callback(error as Error, []));
  };
}

/**
 * Creates an undici agent whose every new connection passes the SSRF guard: the host as written (literal addresses
 * never reach a lookup), each address of a name, and once more the address that the socket connected to. Redirects are
 * not followed.
 */
export function createGuardedAgent(options: GuardedAgentOptions): Agent {
  const { guard } = options;
  const connect = buildConnector({
    allowH2: false,
    timeout: options.connectTimeoutMs,
    lookup: guardedLookup(guard, sharingResolver(options.resolve ?? systemResolve)),
    ...(options.ca === undefined ? {} : { ca: options.ca as string | string[] }),
  });
  const guardedConnect: buildConnector.connector = (target, callback) => {
    const refusal = guard.refuseHost(target.hostname);
    if (refusal !== null) {
      callback(new SsrfRefusal(refusal), null);
      return;
    }
    connect(target, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null);
        return;
      }
      const late = guard.refuseResolved(socket.remoteAddress ?? '', target.hostname);
      if (late === null) {
        callback(null, socket);
        return;
      }
      socket.destroy();
      callback(new SsrfRefusal(late), null);
    });
  };
  return new Agent({
    connect: guardedConnect,
    connections: options.connectionsPerOrigin,
    pipelining: 1,
    allowH2: false,
    // Each try has its own timeout over all its phases.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: options.keepAliveMs ?? KEEP_ALIVE_MS,
    maxHeaderSize: 32 * 1024,
    ...(options.responseBytesMax === undefined ? {} : { maxResponseSize: options.responseBytesMax }),
  });
}
