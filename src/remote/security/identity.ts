import type { PeerCertificate } from './port.ts';

/** What stands before a client's name in the URI of its certificate. */
export const CLIENT_URI_PREFIX = 'heddle:client:';

/** Whether a certificate is this client's: its subject alternative names have the name, or the URI with it. */
export function isCertificateOf(peer: PeerCertificate, client: string): boolean {
  return peer.names.includes(client) || peer.names.includes(CLIENT_URI_PREFIX + client);
}
