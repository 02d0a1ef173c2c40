import type { Registry } from 'prom-client';

import type { Clock } from '@heddle/base/clock';
import { limitedLogger, LogLimit } from '@heddle/base/log-limit';
import type { Logger } from '@heddle/base/log';
import { openGrpcListener } from '@heddle/executor/grpc/server';
import { openHttpListener } from '@heddle/executor/http/server';
import type { UnprovenBounds } from '@heddle/executor/connections';
import type { Listener, ListenerOptions, ListenerTls } from '@heddle/executor/listener';
import type { RemoteManager } from '@heddle/executor/manager/port';
import type { Ingress } from '@heddle/executor/protocol/messages';
import { openTcpListener } from '@heddle/executor/tcp/server';
import { openXmlRpcListener } from '@heddle/executor/xmlrpc/server';
import { CommandFailure } from '@heddle/base/terminal/failure';
import type { ListenerAddress } from './executor-events.ts';
import type { ListenerSetting } from './executor-settings-check.ts';

export interface ListenersOptions {
  manager: RemoteManager;
  tls: ListenerTls | null;
  registry: Registry;
  /** Host names accepted by HTTP listeners, beside those of loopback. */
  allowedHosts: readonly string[];
  unproven: UnprovenBounds;
  clock: Clock;
  log: Logger;
}

/**
 * Opens one listener for each setting. If one fails, closes those already open.
 * @throws CommandFailure that names the address and the remedy
 */
export async function openListeners(
  wanted: readonly ListenerSetting[],
  { registry, allowedHosts, ...options }: ListenersOptions,
): Promise<Listener[]> {
  const opened: Listener[] = [];
  const lines = new LogLimit(options.clock);
  try {
    for (const { protocol, host, port } of wanted) {
      // Limited, because any caller may cause these log lines.
      const log = limitedLogger(options.log, lines);
      const common = { ...options, log, host, port };
      opened.push(
        await open[protocol](common, registry, allowedHosts).catch((error: unknown) => {
          throw listenFailure(error, protocol, `${host}:${port}`);
        }),
      );
    }
    return opened;
  } catch (error) {
    await Promise.all(opened.map((listener) => listener.close(0)));
    throw error;
  }
}

type Common = Omit<ListenerOptions<never>, 'limits'>;

const open = {
  grpc: openGrpcListener,
  xmlrpc: (common: Common, _registry: Registry, allowedHosts: readonly string[]) =>
    openXmlRpcListener({ ...common, allowedHosts }),
  tcp: openTcpListener,
  http: (common: Common, registry: Registry, allowedHosts: readonly string[]) =>
    openHttpListener({ ...common, registry, allowedHosts }),
} satisfies Record<Ingress, (common: Common, registry: Registry, allowedHosts: readonly string[]) => Promise<Listener>>;

function listenFailure(error: unknown, protocol: string, address: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  const remedy =
    code === 'EADDRINUSE'
      ? 'the port is in use by another program; choose another one'
      : code === 'EACCES'
        ? 'this user may not listen there; choose a port above 1023'
        : message;
  const setting = `HEDDLE_EXECUTOR_${protocol.toUpperCase()}_BIND`;
  return new CommandFailure(`${setting}: the ${protocol} listener cannot use ${address}: ${remedy}`, { cause: error });
}

/** The address as callers write it; that of loopback if it listens on every address. */
export function addressOf({ protocol, address: { host, port } }: Listener, tls: boolean): ListenerAddress {
  const bracketed = host.includes(':') ? `[${host}]` : host;
  if (protocol === 'http') return { protocol, url: `${tls ? 'https' : 'http'}://${bracketed}:${port}` };
  return { protocol, url: `${protocol}${tls ? '' : '+plain'}://${bracketed}:${port}` };
}
