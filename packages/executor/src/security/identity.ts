import type { PeerCertificate } from './port.ts';

/** Prefix of the client's name in the URI of its certificate. */
export const CLIENT_URI_PREFIX = 'heddle:client:';

/** Returns whether a certificate belongs to a client: its alternative names include the name, or the URI with it. */
export function isCertificateOf(peer: PeerCertificate, client: string): boolean {
  return peer.names.includes(client) || peer.names.includes(CLIENT_URI_PREFIX + client);
}
