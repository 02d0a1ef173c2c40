/** The variables by which Docker and Podman find the credentials of registries. */
export interface RegistryEnvironment {
  /** The content of a file of credentials. */
  DOCKER_AUTH_CONFIG?: string | undefined;
  /** The directory of such a file. */
  DOCKER_CONFIG?: string | undefined;
  /** Such a file. */
  REGISTRY_AUTH_FILE?: string | undefined;
  XDG_RUNTIME_DIR?: string | undefined;
}

export function registryEnvironment(): RegistryEnvironment {
  const { DOCKER_AUTH_CONFIG, DOCKER_CONFIG, REGISTRY_AUTH_FILE, XDG_RUNTIME_DIR } = process.env;
  return { DOCKER_AUTH_CONFIG, DOCKER_CONFIG, REGISTRY_AUTH_FILE, XDG_RUNTIME_DIR };
}
