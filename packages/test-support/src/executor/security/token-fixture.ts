/** Keys of an issuer and of a foreign one, files of public keys, and forged tokens. */
import { createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export const ISSUER = 'https://issuer.example';

const pairs: Readonly<Record<string, { publicKey: KeyObject; privateKey: KeyObject }>> = {
  ed: generateKeyPairSync('ed25519'),
  ec: generateKeyPairSync('ec', { namedCurve: 'prime256v1' }),
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  'foreign-ed': generateKeyPairSync('ed25519'),
  'second-ed': generateKeyPairSync('ed25519'),
};

const KEY_OF_ALGORITHM: Readonly<Record<string, string>> = { EdDSA: 'ed', ES256: 'ec', RS256: 'rsa' };

export function publicPem(name: string): string {
  return pairs[name]!.publicKey.export({ format: 'pem', type: 'spki' }).toString();
}

export function publicJwk(name: string, kid?: string): object {
  return { ...pairs[name]!.publicKey.export({ format: 'jwk' }), ...(kid === undefined ? {} : { kid }) };
}

export function privateJwk(name: string): object {
  return pairs[name]!.privateKey.export({ format: 'jwk' });
}

const JWKS = JSON.stringify({ keys: ['ed', 'ec', 'rsa'].map((name) => publicJwk(name, name)) });

export async function writeKeys(directory: string, text: string = JWKS, name = 'jwks.json'): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, text);
  return path;
}

export interface TokenOptions {
  alg?: string;
  kid?: string;
  /** `jwk: 'foreign'` embeds the foreign key. */
  header?: Record<string, unknown>;
  /** `exp` and `nbf` in seconds from now; null omits a claim. */
  claims?: Record<string, unknown>;
  key?: string;
  bend?: string;
}

/** Builds a token, valid by default; hand-made, because libraries refuse to create most invalid ones. */
export function makeToken(nowMs: number, options: TokenOptions): string {
  const { alg = 'EdDSA', kid, header = {}, claims = {}, bend } = options;
  const nowSecs = Math.floor(nowMs / 1000);
  const base: Record<string, unknown> = { iss: ISSUER, aud: 'heddle-executor', sub: 'alice', exp: 300, ...claims };
  const payload = Object.fromEntries(
    Object.entries(base)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [name, name === 'exp' || name === 'nbf' ? nowSecs + (value as number) : value]),
  );
  const jwk = header['jwk'] === 'foreign' ? { jwk: publicJwk('foreign-ed') } : {};
  const input = `${encode({ alg, ...(kid === undefined ? {} : { kid }), ...header, ...jwk })}.${encode(payload)}`;
  const signature = signatureOf(alg, options.key ?? KEY_OF_ALGORITHM[alg] ?? '', input);
  if (bend === 'payload')
    return `${input.split('.')[0]!}.${encode({ ...payload, scope: 'task:execute:*' })}.${signature}`;
  return bend === 'signature' ? `${input}.` : `${input}.${signature}`;
}

function signatureOf(alg: string, key: string, input: string): string {
  const data = Buffer.from(input);
  if (alg === 'HS256') {
    const secret = key === 'public-file' ? JWKS : publicPem('rsa');
    return createHmac('sha256', secret).update(data).digest('base64url');
  }
  if (alg.toLowerCase() === 'none') return '';
  const { privateKey } = pairs[key]!;
  if (privateKey.asymmetricKeyType === 'ed25519') return sign(null, data, privateKey).toString('base64url');
  return sign('sha256', data, { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url');
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
