import { join } from 'node:path';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { newId } from '@heddle/base/random';
import { createArtifacts } from '@heddle/core/engine/artifacts/artifacts';
import type { Artifacts, BlobStore, TaskArtifacts } from '@heddle/core/engine/port';
import type { Database } from '@heddle/core/store/database';
import { ArtifactFiles } from './files.ts';
import { ArtifactObjects } from './objects.ts';
import { parseS3Address } from './s3-address.ts';
import type { ServerAddress } from '../server-access.ts';
import { serverArtifacts } from './server.ts';
import type { SettingValues } from '../settings.ts';

const MIB = 1024 * 1024;
/** Largest object that one request can store. */
const OBJECT_MIB_MAX = 5_120;

interface Parts {
  database: Database;
  clock: Clock;
  log: Logger;
}

/** The artifacts of a process with a database. */
export function artifactsOf(settings: SettingValues, parts: Parts): Artifacts {
  const { database, clock } = parts;
  const { artifactsPerTask: countMax } = settings;
  const blobs = blobStoreOf(settings, parts);
  return createArtifacts({ database, blobs, clock, newId, bytesMax: bytesMaxOf(settings), countMax });
}

/** Size of the largest artifact, bytes. */
export function bytesMaxOf({ artifactMaxMb }: Pick<SettingValues, 'artifactMaxMb'>): number {
  return artifactMaxMb * MIB;
}

type StoreSettings = Pick<SettingValues, 'artifactsDir' | 'artifactsS3' | 'dataDir'>;

/** Directory of the contents, or of those that are on their way to the bucket. */
export function artifactsDirectoryOf({ artifactsDir, dataDir }: StoreSettings): string {
  return artifactsDir === '' ? join(dataDir, 'artifacts') : artifactsDir;
}

export function blobStoreOf(settings: StoreSettings, { clock, log }: Omit<Parts, 'database'>): BlobStore {
  const { artifactsS3 } = settings;
  const directory = artifactsDirectoryOf(settings);
  if (artifactsS3 === '') return new ArtifactFiles(directory, newId);
  const address = parseS3Address(artifactsS3);
  return new ArtifactObjects({ address, spoolDirectory: directory, newId, clock, log });
}

/** Returns a fault of the settings. */
export function artifactFaults({ artifactsS3, artifactMaxMb }: SettingValues): string[] {
  if (artifactsS3 === '' || artifactMaxMb <= OBJECT_MIB_MAX) return [];
  return [`HEDDLE_ARTIFACT_MB: must be at most ${OBJECT_MIB_MAX} with HEDDLE_ARTIFACTS_S3, not ${artifactMaxMb}`];
}

/**
 * The artifacts of a worker: over HTTP if it knows a server, else in the store that is named for it, or in that of a
 * `heddle up` on this machine; null if it has neither.
 */
export function workerArtifacts(
  settings: SettingValues,
  server: ServerAddress | null,
  { database, ...parts }: Omit<Parts, 'database'> & { database: Database | null },
): TaskArtifacts | null {
  if (server !== null) return serverArtifacts({ server, bytesMax: bytesMaxOf(settings) });
  const { artifactsDir, artifactsS3, databaseUrl } = settings;
  const sharesStore = artifactsDir !== '' || artifactsS3 !== '' || databaseUrl === null;
  return database !== null && sharesStore ? artifactsOf(settings, { database, ...parts }) : null;
}
