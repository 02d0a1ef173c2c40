import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import {
  clientSigner,
  parseClientCredentials,
  readClientCredentials,
  type ClientCredentials,
  type ClientSigner,
} from '../security/client-credentials.ts';
import { certificateOf, readText, requirePair } from '../security/tls-files.ts';
import type { ClientTlsFiles } from './options.ts';
import type { ClientTls } from './port.ts';
import { WatchedFiles } from './watched-file.ts';

/** A value that may be reloaded from files. */
export interface Source<Value> {
  current(): Promise<Value>;
}

interface Environment {
  readonly clock: Clock;
  readonly log: Logger;
}

/** @throws KeyFileError if inline credentials are invalid; a file is read on first use */
export function signerSource(given: string | ClientCredentials, { clock, log }: Environment): Source<ClientSigner> {
  if (typeof given !== 'string') {
    const signer = clientSigner(parseClientCredentials(given, 'credentials'));
    return { current: () => Promise.resolve(signer) };
  }
  const read = async (): Promise<ClientSigner> => clientSigner(await readClientCredentials(given));
  return new WatchedFiles({ paths: [given], name: 'the client file', read, clock, log });
}

/** Returns the source of certificates; its value is null if there are none. Each loaded set is a distinct object. */
export function tlsSource(
  given: ClientTls | ClientTlsFiles | undefined,
  { clock, log }: Environment,
): Source<ClientTls | null> {
  if (given === undefined || 'ca' in given) {
    const tls = given ?? null;
    return { current: () => Promise.resolve(tls) };
  }
  const { caFile, certFile, keyFile } = given;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new TypeError('tls: certFile and keyFile must be set together');
  }
  const paths = [caFile, certFile, keyFile].filter((path) => path !== undefined);
  const read = async (): Promise<ClientTls> => readTls(given);
  return new WatchedFiles({ paths, name: 'the certificates', read, clock, log });
}

/** Reads certificate and key. While only one of the two files has been replaced they do not match and are rejected. */
async function readTls({ caFile, certFile, keyFile, servername }: ClientTlsFiles): Promise<ClientTls> {
  const ca = await readText(caFile);
  certificateOf(ca, caFile);
  const name = servername === undefined ? {} : { servername };
  if (certFile === undefined || keyFile === undefined) return { ca, ...name };
  const [cert, key] = await Promise.all([readText(certFile), readText(keyFile)]);
  requirePair({ cert, certFile, key, keyFile });
  return { ca, cert, key, ...name };
}
