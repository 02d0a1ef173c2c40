import { lookup as systemLookup } from 'node:dns/promises';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { Agent, buildConnector } from 'undici';
import { SsrfRefusal } from './ssrf.ts';
import type { SsrfGuard } from './ssrf.ts';

/** Every address of a host name. Rejects as `dns.lookup` does where the name is unknown. */
export type ResolveHost = (hostname: string) => Promise<readonly LookupAddress[]>;

export interface GuardedAgentOptions {
  guard: SsrfGuard;
  /** Sockets of one origin, at most. */
  connectionsPerOrigin: number;
  connectTimeoutMs: number;
  /** How long an idle connection is kept where the target does not say. */
  keepAliveMs?: number;
  /** The system's resolver where absent; a test brings its own. */
  resolve?: ResolveHost;
  /** PEM certificates that are trusted beside the system's. */
  ca?: string | readonly string[];
}

/** Common servers close idle connections after five seconds and do not say so. */
const KEEP_ALIVE_MS = 4000;

const systemResolve: ResolveHost = (hostname) => systemLookup(hostname, { all: true });

/**
 * Lets simultaneous questions for one name share an answer, so that a name whose servers are slow takes one thread of
 * the system's resolver and not all of them. Answers are not kept.
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
 * A `lookup` for `net.connect`: the socket connects to the addresses that were checked here and asks nobody again, which
 * is what makes a name that changes its answer harmless. One forbidden address refuses the whole name.
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
 * An undici agent whose every new connection passes the SSRF guard: the host's spelling (literal addresses never reach a
 * lookup), each address behind a name, and once more the address that the socket ended at. Redirects are not followed.
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
    // Each try has one limit of its own over all its phases.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: options.keepAliveMs ?? KEEP_ALIVE_MS,
    maxHeaderSize: 32 * 1024,
  });
}
