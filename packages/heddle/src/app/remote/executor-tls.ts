import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Listener, ListenerTls } from '@heddle/executor/listener';
import { FileWatch } from '@heddle/executor/security/file-watch';
import { KeyFileError } from '@heddle/executor/security/key-file-error';
import type { RevokedCertificates } from '@heddle/executor/security/revoked-certificates';
import { readTlsFiles } from '@heddle/executor/security/tls-files';
import { CommandFailure } from '@heddle/base/terminal/failure';
import type { SettingValues } from '../settings.ts';

type TlsSettings = Pick<SettingValues, 'executorTlsCert' | 'executorTlsKey' | 'executorClientCa' | 'executorClientCrl'>;

interface Environment {
  clock: Clock;
  log: Logger;
  /** Called with the revoked certificates each time that the files are read. */
  revoked: RevokedCertificates;
}

/**
 * Reads the certificates of the settings; returns null if none are named. @throws CommandFailure if a file cannot be
 * used
 */
export async function readListenerTls(settings: TlsSettings, environment: Environment): Promise<ListenerTls | null> {
  const { executorTlsCert: certFile, executorTlsKey: keyFile, executorClientCa, executorClientCrl } = settings;
  if (certFile === '') return null;
  const caFile = executorClientCa === '' ? null : executorClientCa;
  const crlFile = executorClientCrl === '' ? null : executorClientCrl;
  try {
    const tls = await readTlsFiles({ certFile, keyFile, caFile, crlFile, ...environment });
    await environment.revoked.use(tls.crl, executorClientCrl, environment);
    return tls;
  } catch (error) {
    if (!(error instanceof KeyFileError)) throw error;
    throw new CommandFailure(`HEDDLE_EXECUTOR_TLS_CERT, _TLS_KEY, _CLIENT_CA, _CLIENT_CRL: ${error.message}`, {
      cause: error,
    });
  }
}

/** Reloads the listeners' certificates within two seconds of a change of their files. */
export async function watchListenerTls(
  settings: TlsSettings,
  listeners: readonly Listener[],
  environment: Environment,
): Promise<FileWatch> {
  const { executorTlsCert, executorTlsKey, executorClientCa, executorClientCrl } = settings;
  const paths = [executorTlsCert, executorTlsKey, executorClientCa, executorClientCrl].filter((path) => path !== '');
  const apply = async (): Promise<void> => {
    const tls = await readListenerTls(settings, environment);
    if (tls !== null) for (const listener of listeners) listener.reloadTls(tls);
  };
  return FileWatch.open({ name: 'certificates', paths, ...environment, apply });
}
