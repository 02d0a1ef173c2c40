import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import type { X509Certificate } from 'node:crypto';

import { abortErrorOf } from '@heddle/base/thrown';
import type { TlsVersion } from '../records.ts';
import type { Endpoint } from '../targets/port.ts';
import type { ConnectionOptions } from './conversation.ts';
import { shortageOf } from './local-shortage.ts';
import { READ_LIMITS } from './protocol.ts';

export interface SocketShortage {
  readonly shortage: string;
}

export interface WholeHandshake {
  readonly version: TlsVersion;
  /** IANA's name. */
  readonly cipher: string;
  readonly alpn: string | null;
  readonly certificates: readonly Uint8Array[];
  readonly ocsp_stapled: boolean;
}

const VERSIONS: Readonly<Record<string, TlsVersion>> = {
  'TLSv1.3': 'tls13',
  'TLSv1.2': 'tls12',
  'TLSv1.1': 'tls11',
  TLSv1: 'tls10',
};

/**
 * Completes a handshake with Node.js, for servers whose key exchange OpenSSL supports but a probe does not. The
 * certificates are those that OpenSSL could order, which may be fewer than were sent. Resolves with null if it fails
 * too.
 *
 * @returns `shortage` if this machine lacked something for it
 * @throws the signal's reason
 */
export function wholeHandshake(
  endpoint: Endpoint,
  { sni, alpn, ...line }: ConnectionOptions & { sni: string | null; alpn: readonly string[] },
): Promise<WholeHandshake | SocketShortage | null> {
  const socket = connectTcp({ host: endpoint.ip, port: endpoint.port, family: endpoint.family });
  const secure = connectTls({
    socket,
    rejectUnauthorized: false,
    // Weak keys and old versions are the point of the scan.
    ciphers: 'ALL:COMPLEMENTOFALL:@SECLEVEL=0',
    minVersion: 'TLSv1',
    requestOCSP: true,
    ...(sni === null ? {} : { servername: sni }),
    ...(alpn.length === 0 ? {} : { ALPNProtocols: [...alpn] }),
  });
  return settle(socket, secure, line);
}

function settle(
  socket: Socket,
  secure: TLSSocket,
  { clock, timeoutMs, signal }: ConnectionOptions,
): Promise<WholeHandshake | SocketShortage | null> {
  return new Promise((resolve, reject) => {
    let isStapled = false;
    const leave = (): void => {
      stopTimer();
      signal.removeEventListener('abort', onAbort);
      for (const one of [secure, socket]) one.removeAllListeners().on('error', () => undefined);
      secure.destroy();
      socket.destroy();
    };
    const finish = (result: WholeHandshake | SocketShortage | null): void => {
      leave();
      resolve(result);
    };
    const onAbort = (): void => {
      leave();
      reject(abortErrorOf(signal));
    };
    const stopTimer = clock.after(timeoutMs, () => finish(null));
    signal.addEventListener('abort', onAbort, { once: true });
    secure.on('OCSPResponse', (answer: Buffer | null) => (isStapled = answer !== null && answer.length > 0));
    secure.on('secureConnect', () => finish(resultOf(secure, isStapled)));
    // Listens on the inner socket first, whose errors have their code.
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      const shortage = shortageOf(code);
      finish(shortage === null ? null : { shortage });
    });
    for (const event of ['error', 'end', 'close']) secure.on(event, () => finish(null));
    if (signal.aborted) onAbort();
  });
}

function resultOf(secure: TLSSocket, isStapled: boolean): WholeHandshake | null {
  const version = VERSIONS[secure.getProtocol() ?? ''];
  if (version === undefined) return null;
  const certificates: Uint8Array[] = [];
  let certificate: X509Certificate | undefined = secure.getPeerX509Certificate();
  while (certificate !== undefined && certificates.length < READ_LIMITS.chain_max) {
    certificates.push(certificate.raw);
    const issuer: X509Certificate | undefined = certificate.issuerCertificate;
    certificate = issuer?.fingerprint256 === certificate.fingerprint256 ? undefined : issuer;
  }
  return {
    version,
    cipher: secure.getCipher().standardName,
    alpn: secure.alpnProtocol === false ? null : secure.alpnProtocol,
    certificates,
    ocsp_stapled: isStapled,
  };
}
