import { isLoopbackHost } from '@heddle/base/net/classify';
import { parseHostPort, type HostPort } from '../host-port.ts';
import { ConfigurationError } from '@heddle/base/terminal/failure';
import type { SettingValues } from '../settings.ts';
import type { Ingress, Tier } from '@heddle/executor/protocol/messages';
import { isDefaultRange, ownUserFiles, userRangeFaults, userRangeOf } from './executor-users.ts';

export interface ListenerSetting extends HostPort {
  readonly protocol: Ingress;
}

const BINDS = {
  grpc: ['executorGrpcBind', 'HEDDLE_EXECUTOR_GRPC_BIND'],
  xmlrpc: ['executorXmlrpcBind', 'HEDDLE_EXECUTOR_XMLRPC_BIND'],
  tcp: ['executorTcpBind', 'HEDDLE_EXECUTOR_TCP_BIND'],
  http: ['executorHttpBind', 'HEDDLE_EXECUTOR_HTTP_BIND'],
} as const satisfies Record<Ingress, readonly [keyof SettingValues, string]>;

/** The addresses that the executor listens on. */
export function listenerSettings(settings: SettingValues): ListenerSetting[] {
  return (Object.keys(BINDS) as Ingress[]).flatMap((protocol) => {
    const address = parseHostPort(settings[BINDS[protocol][0]]);
    return address === null ? [] : [{ protocol, ...address }];
  });
}

/** The tier of the settings: the sandbox setting means the jail, and a named tier takes precedence. */
export function configuredTier({ executorTier, executorSandboxMode }: SettingValues): Tier {
  if (executorTier !== 'auto') return executorTier;
  return executorSandboxMode ? 'jail' : 'process';
}

/** @throws ConfigurationError that names every missing or contradictory setting */
export function requireExecutorSettings(settings: SettingValues): void {
  const faults = [keyFaults, listenerFaults, tokenFaults, userFaults].flatMap((faultsOf) => faultsOf(settings));
  if (faults.length > 0) throw new ConfigurationError(faults);
}

function keyFaults({ executorKeys, executorSecretKey }: SettingValues): string[] {
  if (executorKeys !== '' && executorSecretKey !== '') {
    return ['HEDDLE_EXECUTOR_KEYS, HEDDLE_EXECUTOR_SECRET_KEY: only one may be set'];
  }
  if (executorKeys !== '' || executorSecretKey !== '') return [];
  return [
    'HEDDLE_EXECUTOR_KEYS (--keys): is required; `heddle keys generate --out keys --client NAME` makes a key ring',
  ];
}

function listenerFaults(settings: SettingValues): string[] {
  const { executorTlsCert: cert, executorTlsKey: key, executorClientCa: ca, executorClientCrl: crl } = settings;
  const faults: string[] = [];
  if ((cert === '') !== (key === '')) {
    faults.push('HEDDLE_EXECUTOR_TLS_CERT, HEDDLE_EXECUTOR_TLS_KEY: set both or neither');
  }
  if (ca !== '' && cert === '') faults.push('HEDDLE_EXECUTOR_CLIENT_CA: needs HEDDLE_EXECUTOR_TLS_CERT');
  if (crl !== '' && ca === '') faults.push('HEDDLE_EXECUTOR_CLIENT_CRL: needs HEDDLE_EXECUTOR_CLIENT_CA');
  const listeners = listenerSettings(settings);
  if (!listeners.some(({ protocol }) => protocol !== 'http')) {
    faults.push('HEDDLE_EXECUTOR_GRPC_BIND, _XMLRPC_BIND, _TCP_BIND: at least one must be an address');
  }
  for (const { protocol, host } of listeners) {
    if (cert === '' && !isLoopbackHost(host)) {
      faults.push(
        `${BINDS[protocol][1]}: ${host} is not a loopback address and needs a certificate: set HEDDLE_EXECUTOR_TLS_CERT and ` +
          'HEDDLE_EXECUTOR_TLS_KEY; `heddle certs dev` creates test certificates',
      );
    }
  }
  return faults;
}

/** Faults of the default users are only logged, since the configuration did not choose them. */
function userFaults(settings: SettingValues): string[] {
  return isDefaultRange(userRangeOf(settings)) ? [] : taskUserFaults(settings);
}

/** Returns why tasks cannot run as the users of the settings; empty if tasks do not run as separate users. */
export function taskUserFaults(settings: SettingValues): string[] {
  const files = configuredTier(settings) === 'container' ? null : ownUserFiles();
  return files === null ? [] : userRangeFaults(userRangeOf(settings), settings.executorWorkerCount, files);
}

function tokenFaults({ executorJwtKeys, executorJwtIssuer }: SettingValues): string[] {
  if (executorJwtKeys !== '' && executorJwtIssuer === '') {
    return ['HEDDLE_EXECUTOR_JWT_ISSUER: is required if HEDDLE_EXECUTOR_JWT_KEYS is set'];
  }
  if (executorJwtKeys === '' && executorJwtIssuer !== '') {
    return ['HEDDLE_EXECUTOR_JWT_KEYS: is required if HEDDLE_EXECUTOR_JWT_ISSUER is set'];
  }
  return [];
}
