import { parseEndpoint } from '@heddle/executor/client/endpoint';
import * as kind from './setting.ts';

export interface ExecutorEntry {
  /** The name that tasks use. */
  readonly name: string;
  /** A URL, or a path. */
  readonly value: string;
}

/** The name of an entry without one. */
export const UNNAMED = 'default';

const NAMED = /^([A-Za-z0-9_.-]{1,100})=(.+)$/;

/** Reads `NAME=VALUE`, or `VALUE` alone. */
export function parseExecutorEntry(text: string): ExecutorEntry {
  const [, name = UNNAMED, value = text] = NAMED.exec(text) ?? [];
  return { name, value };
}

function isEndpointEntry(text: string): boolean {
  try {
    parseEndpoint(parseExecutorEntry(text).value);
    return true;
  } catch {
    return false;
  }
}

/** A path of a file; empty if none is set. */
function file(name: string, flag: string, description: string): kind.Setting<string> {
  return kind.text({ name, flag, fallback: '', fallbackText: '-', description });
}

/** Settings of servers and workers that send tasks to executors, and of `heddle event`. */
export const REMOTE_CLIENT_SETTING_GROUPS = {
  'Remote events': {
    remoteExecutors: kind.list({
      name: 'HEDDLE_EXECUTORS',
      fallback: [],
      fallbackText: '-',
      allowed:
        'a comma-separated list of [NAME=]URL: grpc://HOST:PORT, xmlrpc://HOST:PORT, tcp://HOST:PORT, or grpc+plain://127.0.0.1:PORT on loopback',
      item: (given) => (isEndpointEntry(given) ? given : null),
      description:
        'Executors for tasks of the kind `RemoteEvent`, comma-separated; those of one name (`gpu=grpc://…`) substitute for each other',
    }),
    remoteClient: kind.list({
      name: 'HEDDLE_EXECUTOR_CLIENT',
      flag: '--client-file <file>',
      fallback: [],
      fallbackText: '-',
      description: 'Key file that `heddle keys` wrote for this client; `NAME=FILE` for executors with a different key',
    }),
    remoteCa: file(
      'HEDDLE_EXECUTOR_CA',
      '--ca <file>',
      'Authorities that must have issued the executors’ certificates, PEM',
    ),
    remoteCert: file('HEDDLE_EXECUTOR_CERT', '--cert <file>', 'Client certificate for executors that require one, PEM'),
    remoteKey: file('HEDDLE_EXECUTOR_KEY', '--cert-key <file>', 'Private key of the client certificate, PEM'),
    remoteToken: file(
      'HEDDLE_EXECUTOR_TOKEN',
      '--token-file <file>',
      'File with the bearer token for executors that require one',
    ),
  },
} as const;
