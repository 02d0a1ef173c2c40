import type { Artifacts, NamedSecrets } from '@heddle/core/engine/port';

const unused = (): Promise<never> => Promise.reject(new Error('not needed'));

/** Artifacts of a server that has none. */
export const noArtifacts: Omit<Artifacts, 'open' | 'retain'> = {
  put: unused,
  uploadTarget: () => Promise.resolve(null),
  putUploaded: unused,
  downloadUrl: () => Promise.resolve(null),
  find: () => Promise.resolve(null),
  list: () => Promise.resolve([]),
  get: () => Promise.resolve(null),
  read: unused,
  pin: () => Promise.resolve(null),
};

/** Secrets of a server that has none. */
export const noSecrets: NamedSecrets = {
  set: unused,
  list: () => Promise.resolve([]),
  remove: () => Promise.resolve(false),
  rotate: () => Promise.resolve(0),
  use: unused,
};
