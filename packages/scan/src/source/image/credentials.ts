import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type RegistryEnvironment, registryEnvironment } from '@heddle/base/registry-environment';

/** A user name and a password, as a header of basic authentication has them. */
export type BasicCredentials = string;

type Json = Readonly<Record<string, unknown>>;

/**
 * Returns the credentials of a registry: from the text in `DOCKER_AUTH_CONFIG`, else from the files that Docker and
 * Podman write. Null if there are none.
 *
 * @throws Error that names the file if it is not JSON, or keeps the credentials in a helper, which is not run
 */
export function credentialsOf(
  registry: string,
  env: RegistryEnvironment = registryEnvironment(),
): BasicCredentials | null {
  for (const [name, text] of configurations(env)) {
    const found = credentialsIn(name, text, registry);
    if (found !== null) return found;
  }
  return null;
}

function* configurations(env: RegistryEnvironment): Generator<[name: string, text: string]> {
  const text = env.DOCKER_AUTH_CONFIG;
  if (text) yield ['DOCKER_AUTH_CONFIG', text];
  const docker = env.DOCKER_CONFIG ?? join(homedir(), '.docker');
  const { REGISTRY_AUTH_FILE: named, XDG_RUNTIME_DIR: runtime } = env;
  const podman = named ?? (runtime === undefined ? [] : join(runtime, 'containers/auth.json'));
  for (const file of [podman, join(docker, 'config.json')].flat()) {
    const content = readIfThere(file);
    if (content !== null) yield [file, content];
  }
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

function credentialsIn(name: string, text: string, registry: string): BasicCredentials | null {
  let config: Json;
  try {
    config = JSON.parse(text) as Json;
  } catch (error) {
    throw new Error(`${name} is not valid JSON; correct it, or log in again`, { cause: error });
  }
  const auths = memberOf(config, 'auths');
  const key = Object.keys(auths).find((each) => hostOf(each) === registry);
  const { auth, username, password } = memberOf(auths, key ?? '');
  if (typeof auth === 'string' && auth !== '') return auth;
  if (typeof username === 'string' && typeof password === 'string')
    return Buffer.from(`${username}:${password}`).toString('base64');
  const helpers = memberOf(config, 'credHelpers');
  const helper = helpers[registry] ?? (key === undefined ? undefined : config['credsStore']);
  if (typeof helper !== 'string') return null;
  throw new Error(
    `${name} keeps the credentials of ${registry} in the helper ${helper}, which is not run; set DOCKER_AUTH_CONFIG to {"auths":{"${registry}":{"auth":"…"}}}`,
  );
}

function memberOf(value: Json, key: string): Json {
  const member = Object.hasOwn(value, key) ? value[key] : null;
  return typeof member === 'object' && member !== null ? (member as Json) : {};
}

/** Names of registries in such files may be addresses: `https://index.docker.io/v1/`. */
function hostOf(name: string): string {
  const host = name.replace(/^https?:\/\//, '').replace(/\/.*$/s, '');
  return host === 'index.docker.io' || host === 'registry-1.docker.io' ? 'docker.io' : host;
}
