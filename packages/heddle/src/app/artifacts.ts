import { join } from 'node:path';

import type { Clock } from '@heddle/base/clock';
import { newId } from '@heddle/base/random';
import { createArtifacts } from '@heddle/core/engine/artifacts/artifacts';
import type { Artifacts, TaskArtifacts } from '@heddle/core/engine/port';
import type { Database } from '@heddle/core/store/database';
import { ArtifactFiles } from './artifact-files.ts';
import type { ServerAddress } from './server-access.ts';
import { serverArtifacts } from './server-artifacts.ts';
import type { SettingValues } from './settings.ts';

const MIB = 1024 * 1024;

/** The artifacts of a process that shares the directory of the servers. */
export function artifactsOf(
  settings: SettingValues,
  { database, clock }: { database: Database; clock: Clock },
): Artifacts {
  const { artifactsDir, dataDir, artifactMaxMb, artifactsPerTask: countMax } = settings;
  const directory = artifactsDir === '' ? join(dataDir, 'artifacts') : artifactsDir;
  const blobs = new ArtifactFiles(directory, newId);
  return createArtifacts({ database, blobs, clock, newId, bytesMax: artifactMaxMb * MIB, countMax });
}

/**
 * The artifacts of a worker: over HTTP if it knows a server, else in the directory that is named for it, or in that of a
 * `heddle up` on this machine; null if it has neither.
 */
export function workerArtifacts(
  settings: SettingValues,
  server: ServerAddress | null,
  parts: { database: Database | null; clock: Clock },
): TaskArtifacts | null {
  if (server !== null) return serverArtifacts(server);
  const { database, clock } = parts;
  const sharesDirectory = settings.artifactsDir !== '' || settings.databaseUrl === null;
  return database !== null && sharesDirectory ? artifactsOf(settings, { database, clock }) : null;
}
