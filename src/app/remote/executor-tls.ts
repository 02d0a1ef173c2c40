import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Listener, ListenerTls } from '../../remote/listener.ts';
import { FileWatch } from '../../remote/security/file-watch.ts';
import { KeyFileError } from '../../remote/security/key-file-error.ts';
import { readTlsFiles } from '../../remote/security/tls-files.ts';
import { CommandFailure } from '../failure.ts';
import type { SettingValues } from '../settings.ts';

type TlsSettings = Pick<SettingValues, 'executorTlsCert' | 'executorTlsKey' | 'executorClientCa'>;

interface Environment {
  clock: Clock;
  log: Logger;
}

/** The certificates of the settings; null where none are named. @throws CommandFailure where a file cannot be used */
export async function readListenerTls(settings: TlsSettings, environment: Environment): Promise<ListenerTls | null> {
  const { executorTlsCert: certFile, executorTlsKey: keyFile, executorClientCa } = settings;
  if (certFile === '') return null;
  const caFile = executorClientCa === '' ? null : executorClientCa;
  try {
    return await readTlsFiles({ certFile, keyFile, caFile, ...environment });
  } catch (error) {
    if (!(error instanceof KeyFileError)) throw error;
    throw new CommandFailure(`HEDDLE_EXECUTOR_TLS_CERT, _TLS_KEY, _CLIENT_CA: ${error.message}`, { cause: error });
  }
}

/** Gives the listeners new certificates within two seconds of a change of their files. */
export async function watchListenerTls(
  settings: TlsSettings,
  listeners: readonly Listener[],
  environment: Environment,
): Promise<FileWatch> {
  const { executorTlsCert, executorTlsKey, executorClientCa } = settings;
  const paths = [executorTlsCert, executorTlsKey, executorClientCa].filter((path) => path !== '');
  const apply = async (): Promise<void> => {
    const tls = await readListenerTls(settings, environment);
    if (tls !== null) for (const listener of listeners) listener.reloadTls(tls);
  };
  return FileWatch.open({ name: 'certificates', paths, ...environment, apply });
}
