import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { systemClock } from '@heddle/base/clock';
import { systemRandom } from '@heddle/base/random';
import { CLIENT_NAME } from '@heddle/executor/protocol/envelope-shape';
import {
  CERTIFICATE_DAYS,
  makeAuthority,
  makeClientCertificate,
  makeRevocationList,
  makeServerCertificate,
  type IssuedCertificate,
} from '@heddle/executor/security/development-certificates';
import { certificateOf, readText } from '@heddle/executor/security/tls-files';
import { readSecretFile } from '@heddle/executor/security/secret-file';
import { CommandFailure, EXIT } from '@heddle/base/terminal/failure';
import { fileNameOf, writeSecretFiles } from './secret-files.ts';

const DAY_MS = 86_400_000;
const HOST = /^[A-Za-z0-9.:_-]{1,253}$/;

export interface CertificatesWritten {
  /** Whether the authority already existed. */
  authority: 'made' | 'kept';
  ca: string;
  server: { cert: string; key: string; hosts: readonly string[] };
  clients: { client: string; cert: string; key: string }[];
  expires_at: string;
}

/**
 * Creates an authority, a server certificate and one for each client. A later run keeps the authority and recreates the
 * rest, so that clients that trust it continue to do so.
 */
export async function makeDevelopmentCertificates(
  directory: string,
  clients: readonly string[],
  hosts: readonly string[],
): Promise<CertificatesWritten> {
  holdNames(clients, hosts);
  const now = systemClock.now();
  const kept = await readAuthority(directory, now);
  const authority = kept ?? (await makeAuthority(now, systemRandom));
  const issued = [
    { name: 'server', pair: await makeServerCertificate(authority, hosts, now, systemRandom) },
    ...(await Promise.all(
      clients.map(async (client) => ({
        name: `client-${fileNameOf(client)}`,
        pair: await makeClientCertificate(authority, client, now, systemRandom),
      })),
    )),
  ];
  const pairs = kept === null ? [{ name: 'ca', pair: authority }, ...issued] : issued;
  const paths = (name: string): { cert: string; key: string } => ({
    cert: join(directory, `${name}.pem`),
    key: join(directory, `${name}-key.pem`),
  });
  await writeSecretFiles(
    pairs.flatMap(({ name, pair }) => [
      { path: paths(name).key, text: pair.key },
      { path: paths(name).cert, text: pair.cert },
    ]),
    true,
  );
  return {
    authority: kept === null ? 'made' : 'kept',
    ca: paths('ca').cert,
    server: { ...paths('server'), hosts },
    clients: clients.map((client) => ({ client, ...paths(`client-${fileNameOf(client)}`) })),
    expires_at: new Date(now + CERTIFICATE_DAYS * DAY_MS).toISOString(),
  };
}

export interface RevocationWritten {
  crl: string;
  revoked: readonly string[];
  expires_at: string;
}

/**
 * Adds certificates to the authority's revocation list, `crl.pem`; without any, renews the list for another thirty
 * days.
 * @param clients whose certificates in the directory are revoked
 * @param files further certificates
 */
export async function revokeCertificates(
  directory: string,
  clients: readonly string[],
  files: readonly string[],
): Promise<RevocationWritten> {
  holdNames(clients, []);
  const now = systemClock.now();
  const authority = await readAuthority(directory, now);
  if (authority === null) throw usage(`--out: ${directory} has no valid authority of \`heddle certs dev\``);
  const paths = [...clients.map((client) => join(directory, `client-${fileNameOf(client)}.pem`)), ...files];
  const issuer = new X509Certificate(authority.cert);
  const certificates = await Promise.all(
    paths.map(async (path) => {
      const certificate = await readText(path)
        .then((pem) => certificateOf(pem, path))
        .catch(toUsage);
      if (!certificate.checkIssued(issuer)) throw usage(`${path}: is not a certificate of this authority`);
      return certificate.toString();
    }),
  );
  const crl = join(directory, 'crl.pem');
  const before = await readFile(crl, 'utf8').catch(() => null);
  await writeSecretFiles([{ path: crl, text: await makeRevocationList(authority, before, certificates, now) }], true);
  return { crl, revoked: paths, expires_at: new Date(now + CERTIFICATE_DAYS * DAY_MS).toISOString() };
}

/** Returns null if there is none, or if it would expire before the certificates to be created. */
async function readAuthority(directory: string, nowMs: number): Promise<IssuedCertificate | null> {
  const cert = await readFile(join(directory, 'ca.pem'), 'utf8').catch(() => null);
  if (cert === null) return null;
  const ends = Date.parse(new X509Certificate(cert).validTo);
  if (ends < nowMs + CERTIFICATE_DAYS * DAY_MS) return null;
  return { cert, key: (await readSecretFile(join(directory, 'ca-key.pem'))).toString() };
}

function holdNames(clients: readonly string[], hosts: readonly string[]): void {
  const client = clients.find((name) => !CLIENT_NAME.test(name));
  if (client !== undefined) throw usage(`--client: must be 1 to 128 of A-Z a-z 0-9 . _ : @ / -, not ${quoted(client)}`);
  const host = hosts.find((name) => !HOST.test(name));
  if (host !== undefined) throw usage(`--host: must be a host's name or address, not ${quoted(host)}`);
  if (new Set(clients.map(fileNameOf)).size < clients.length) {
    throw usage('--client: two of the names map to the same file');
  }
}

function toUsage(error: unknown): never {
  throw usage((error as Error).message);
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

function usage(message: string): CommandFailure {
  return new CommandFailure(message, { exitCode: EXIT.usage });
}
