import { isObject, shown } from '@heddle/base/parse/faults';
import { Members } from '@heddle/base/parse/members';

/** Raw Ed25519 public keys by signer name. */
export type Signers = ReadonlyMap<string, Buffer>;

/** Reads `signers` of the list: `{ "release": "<32 bytes in base64>" }`. */
export function readSigners(top: Members): Signers {
  const value = top.raw('signers') ?? {};
  const signers = new Map<string, Buffer>();
  if (!isObject(value)) {
    top.fault('signers', `must be an object (got ${shown(value)})`);
    return signers;
  }
  const members = new Members(value, top.at('signers'), top.faults);
  for (const name of Object.keys(value)) {
    const text = members.text(name, 200) ?? '';
    const key = Buffer.from(text, 'base64');
    if (key.length === 32 && key.toString('base64') === text) signers.set(name, key);
    else members.fault(name, 'must be an Ed25519 public key: 32 bytes in base64');
  }
  return signers;
}
