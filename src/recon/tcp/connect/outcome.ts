import type { PortState } from '../../records.ts';

/** What an attempt to connect came to. */
export type ConnectOutcome =
  | { type: 'answer'; state: PortState; reason: string }
  /** Nothing, or a router's word that may change: worth another try; the reason counts after the last one. */
  | { type: 'silence'; reason: string; notice?: string }
  /** This machine had no socket, port or memory for it: the port was not probed at all. */
  | { type: 'shortage'; notice: string };

const SHORTAGES: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'no local port is free for another connection (or the machine has no address of that family)',
  EMFILE: 'the process may open no more files (ulimit -n)',
  ENFILE: 'the system can open no more files',
  ENOBUFS: 'the system has no memory for another socket',
  ENOMEM: 'the system has no memory for another socket',
  EAGAIN: 'the system takes no more connections at the moment',
};

const SILENCES: Readonly<Record<string, { reason: string; notice?: string }>> = {
  ETIMEDOUT: { reason: 'no-response' },
  EHOSTUNREACH: { reason: 'host-unreachable' },
  EHOSTDOWN: { reason: 'host-unreachable' },
  ENETUNREACH: { reason: 'net-unreachable', notice: 'there is no route to some of the targets' },
  ENETDOWN: { reason: 'net-unreachable', notice: 'the network is down' },
  ENONET: { reason: 'net-unreachable', notice: 'the network is down' },
  ENOPROTOOPT: { reason: 'protocol-unreachable' },
  EACCES: { reason: 'not-permitted', notice: 'the system does not let this process connect to some of the targets' },
  EPERM: { reason: 'not-permitted', notice: 'a packet filter of this machine keeps back connections to some targets' },
};

/**
 * Reads the error code of a connection that failed. Only a refusal means closed: everything unknown is filtered, with
 * the code as its reason.
 */
export function outcomeOfError(code: string): ConnectOutcome {
  const shortage = SHORTAGES[code];
  if (shortage !== undefined) return { type: 'shortage', notice: shortage };
  const silence = SILENCES[code];
  if (silence !== undefined) return { type: 'silence', ...silence };
  if (code === 'ECONNREFUSED') return { type: 'answer', state: 'closed', reason: 'refused' };
  // The system says "refused" until the other side has accepted; a reset comes only after that.
  if (code === 'ECONNRESET' || code === 'EPIPE') return { type: 'answer', state: 'open', reason: 'connected-reset' };
  return { type: 'silence', reason: `error-${code.toLowerCase()}` };
}
