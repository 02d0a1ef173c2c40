import type { PortState } from '../../records.ts';

/** The result of a connection attempt. */
export type ConnectOutcome =
  | { type: 'answer'; state: PortState; reason: string }
  /** No answer, or a router's message that may change: worth a retry; the reason counts after the last attempt. */
  | { type: 'silence'; reason: string; notice?: string }
  /** This machine lacked a socket, port or memory: the port was not probed at all. */
  | { type: 'shortage'; notice: string };

const SHORTAGES: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'no local port is free for another connection (or the machine has no address of that family)',
  EMFILE: 'the process has reached its limit of open files (ulimit -n)',
  ENFILE: 'the system has reached its limit of open files',
  ENOBUFS: 'the system has no memory for another socket',
  ENOMEM: 'the system has no memory for another socket',
  EAGAIN: 'the system accepts no more connections right now',
};

const SILENCES: Readonly<Record<string, { reason: string; notice?: string }>> = {
  ETIMEDOUT: { reason: 'no-response' },
  EHOSTUNREACH: { reason: 'host-unreachable' },
  EHOSTDOWN: { reason: 'host-unreachable' },
  ENETUNREACH: { reason: 'net-unreachable', notice: 'there is no route to some of the targets' },
  ENETDOWN: { reason: 'net-unreachable', notice: 'the network is down' },
  ENONET: { reason: 'net-unreachable', notice: 'the network is down' },
  ENOPROTOOPT: { reason: 'protocol-unreachable' },
  EACCES: {
    reason: 'not-permitted',
    notice: 'the system does not permit this process to connect to some of the targets',
  },
  EPERM: { reason: 'not-permitted', notice: 'a packet filter on this machine blocks connections to some targets' },
};

/**
 * Classifies the error code of a failed connection. Only a refusal means closed: every unknown code is filtered, with the
 * code as its reason.
 */
export function outcomeOfError(code: string): ConnectOutcome {
  const shortage = SHORTAGES[code];
  if (shortage !== undefined) return { type: 'shortage', notice: shortage };
  const silence = SILENCES[code];
  if (silence !== undefined) return { type: 'silence', ...silence };
  if (code === 'ECONNREFUSED') return { type: 'answer', state: 'closed', reason: 'refused' };
  // The system reports "refused" until the peer has accepted; a reset comes only after that.
  if (code === 'ECONNRESET' || code === 'EPIPE') return { type: 'answer', state: 'open', reason: 'connected-reset' };
  return { type: 'silence', reason: `error-${code.toLowerCase()}` };
}
