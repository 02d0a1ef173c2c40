import { parseEndpoint } from '../remote/client/endpoint.ts';
import * as kind from './setting.ts';

export interface ExecutorEntry {
  /** What tasks name it by. */
  readonly name: string;
  /** A URL, or a path. */
  readonly value: string;
}

/** The name of what is given without one. */
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

/** A path of a file; empty where none is set. */
function file(name: string, description: string): kind.Setting<string> {
  return kind.text({ name, fallback: '', fallbackText: '-', description });
}

/** Settings of servers and workers that send tasks to executors; `heddle event` reads the same. */
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
        'Executors that tasks of the kind `RemoteEvent` go to, comma-separated; those of one name (`gpu=grpc://…`) stand in for each other',
    }),
    remoteClient: kind.list({
      name: 'HEDDLE_EXECUTOR_CLIENT',
      fallback: [],
      fallbackText: '-',
      description:
        'The file that `heddle keys` made for this client; `NAME=FILE` for executors that have another key than the rest',
    }),
    remoteCa: file('HEDDLE_EXECUTOR_CA', 'Authorities that the executors’ certificates must come from, in PEM'),
    remoteCert: file('HEDDLE_EXECUTOR_CERT', 'The certificate to show them, in PEM, where they ask for one'),
    remoteKey: file('HEDDLE_EXECUTOR_KEY', 'Its private key in PEM'),
    remoteToken: file('HEDDLE_EXECUTOR_TOKEN', 'A file with the bearer token to show them, where they ask for one'),
  },
} as const;
