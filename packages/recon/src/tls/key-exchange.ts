import { createECDH, createPrivateKey, createPublicKey, diffieHellman } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import type { Random } from '@heddle/base/random';
import type { KeyShare } from './client-hello.ts';
import { malformed } from './fault.ts';
import { GROUP } from './protocol.ts';

const CURVES: Readonly<Record<number, { name: string; key_bytes: number }>> = {
  [GROUP.secp256r1]: { name: 'prime256v1', key_bytes: 32 },
  [GROUP.secp384r1]: { name: 'secp384r1', key_bytes: 48 },
  [GROUP.secp521r1]: { name: 'secp521r1', key_bytes: 66 },
};

/** Prefixes of the 32 bytes of an X25519 key in PKCS#8 and in SubjectPublicKeyInfo. */
const X25519_PRIVATE = Buffer.from('302e020100300506032b656e04220420', 'hex');
const X25519_PUBLIC = Buffer.from('302a300506032b656e032100', 'hex');

/**
 * Keys of a scan, one per group, created on first use. All connections share them: nothing secret is ever sent, and
 * new ones would cost more than the rest of a probe.
 */
export class ProbeKeys {
  readonly #random: Random;
  readonly #shares = new Map<number, KeyShare & { agree(peer: Uint8Array): Buffer }>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns null for an unsupported group. */
  share(group: number): KeyShare | null {
    return this.#pair(group);
  }

  /** Computes the shared secret. */
  agree(group: number, peer: Uint8Array): Buffer {
    const pair = this.#pair(group);
    if (pair === null) throw malformed(`a key of the group ${group}, which was not offered`);
    try {
      return pair.agree(peer);
    } catch {
      throw malformed('a key that is not of its group');
    }
  }

  #pair(group: number): (KeyShare & { agree(peer: Uint8Array): Buffer }) | null {
    const known = this.#shares.get(group);
    if (known !== undefined) return known;
    const curve = CURVES[group];
    if (curve === undefined && group !== GROUP.x25519) return null;
    const pair = curve === undefined ? x25519(this.#random) : onCurve(group, curve, this.#random);
    this.#shares.set(group, pair);
    return pair;
  }
}

function x25519(random: Random): KeyShare & { agree(peer: Uint8Array): Buffer } {
  const der = Buffer.concat([X25519_PRIVATE, random.bytes(32)]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const key = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(X25519_PUBLIC.length);
  const publicKeyOf = (peer: Uint8Array): KeyObject =>
    createPublicKey({ key: Buffer.concat([X25519_PUBLIC, peer]), format: 'der', type: 'spki' });
  return {
    group: GROUP.x25519,
    key,
    agree: (peer) => diffieHellman({ privateKey, publicKey: publicKeyOf(peer) }),
  };
}

function onCurve(
  group: number,
  { name, key_bytes }: { name: string; key_bytes: number },
  random: Random,
): KeyShare & { agree(peer: Uint8Array): Buffer } {
  const pair = createECDH(name);
  const secret = Buffer.from(random.bytes(key_bytes));
  // Below the order of each of these curves, and not zero.
  secret[0] = 0;
  secret[key_bytes - 1]! |= 1;
  pair.setPrivateKey(secret);
  return { group, key: pair.getPublicKey(), agree: (peer) => pair.computeSecret(peer) };
}
