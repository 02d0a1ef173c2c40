import { ByteReader } from './byte-reader.ts';
import { readExtensions } from './server-hello.ts';
import { EXTENSION, READ_LIMITS } from './protocol.ts';

export interface SentChain {
  /** DER of each certificate, the server's own first; at most `READ_LIMITS.chain_max`. */
  readonly certificates: readonly Uint8Array[];
  /** Whether an OCSP response came with the first one; before TLS 1.3 that is a message of its own. */
  readonly ocsp_stapled: boolean;
}

/** Parses a Certificate message up to TLS 1.2. */
export function parseCertificates(body: Uint8Array): SentChain {
  const list = new ByteReader(new ByteReader(body, 'the chain').vector24(), 'the chain');
  const certificates: Uint8Array[] = [];
  while (list.left > 0 && certificates.length < READ_LIMITS.chain_max) certificates.push(copy(list.vector24()));
  return { certificates, ocsp_stapled: false };
}

/** Parses a Certificate message of TLS 1.3. */
export function parseCertificates13(body: Uint8Array): SentChain {
  const message = new ByteReader(body, 'the chain');
  message.vector8();
  const list = new ByteReader(message.vector24(), 'the chain');
  const certificates: Uint8Array[] = [];
  let isStapled = false;
  while (list.left > 0 && certificates.length < READ_LIMITS.chain_max) {
    certificates.push(copy(list.vector24()));
    const extensions = readExtensions(list.vector16());
    const status = extensions.get(EXTENSION.status_request);
    if (certificates.length === 1 && status !== undefined) isStapled = parseStatus(status);
  }
  return { certificates, ocsp_stapled: isStapled };
}

/** Returns whether a CertificateStatus contains a response. */
export function parseStatus(body: Uint8Array): boolean {
  const reader = new ByteReader(body, 'the OCSP answer');
  return reader.uint8() === 1 && reader.vector24().length > 0;
}

/** Copied, since certificates outlive their read buffer. */
function copy(bytes: Uint8Array): Uint8Array {
  return Buffer.from(bytes);
}
