import type { Readable } from 'node:stream';

import type { Clock } from '@heddle/base/clock';
import { HeddleError } from '@heddle/base/errors';
import { isUuid } from '@heddle/base/ids';
import { artifactNameFault, type Artifact } from '@heddle/base/vocabulary/artifact';
import {
  artifactOfAttempt,
  deleteLostArtifacts,
  findArtifact,
  getArtifact,
  listArtifacts,
  pinArtifact,
  putArtifact,
  takeUnusedBlobs,
  unknownBlobs,
  unusedBlobs,
} from '../../store/artifacts.ts';
import type { Database } from '../../store/database.ts';
import type { ArtifactContent, ArtifactOwner, Artifacts, BlobStore, ContentId, UploadTarget } from './port.ts';

/** Artifacts of all attempts that one list has. */
const LIST_MAX = 10_000;
/** Age of a content that nothing uses, before it is removed: a task may be about to store it. */
const UNUSED_MS = 3_600_000;
const LIST_INTERVAL_MS = 3_600_000;
const UNFINISHED_MS = 24 * 3_600_000;
const REMOVED_PER_SET = 500;

export interface ArtifactsOptions {
  database: Database;
  blobs: BlobStore;
  clock: Clock;
  newId: () => string;
  /** Largest artifact, bytes. */
  bytesMax: number;
  /** Artifacts of one attempt. */
  countMax: number;
}

export function createArtifacts(options: ArtifactsOptions): Artifacts {
  return new StoredArtifacts(options);
}

class StoredArtifacts implements Artifacts {
  readonly #options: ArtifactsOptions;
  /** Monotonic milliseconds of the last listing of all contents. */
  #listedAt = -Infinity;

  constructor(options: ArtifactsOptions) {
    this.#options = options;
  }

  async put(owner: ArtifactOwner, name: string, content: ArtifactContent): Promise<Artifact> {
    const { blobs, bytesMax } = this.#options;
    requireName(name);
    const blob = await blobs.receive(content, bytesMax);
    try {
      return await this.#store(owner, name, blob, () => blob.keep());
    } finally {
      await blob.discard();
    }
  }

  async uploadTarget(name: string, content: ContentId): Promise<UploadTarget | null> {
    const { blobs, bytesMax } = this.#options;
    requireName(name);
    if (content.size > bytesMax) {
      throw new HeddleError('BODY_TOO_LARGE', `An artifact may have ${bytesMax} bytes (HEDDLE_ARTIFACT_MB)`);
    }
    return (await blobs.direct?.signUpload(content)) ?? null;
  }

  putUploaded(owner: ArtifactOwner, name: string, content: ContentId): Promise<Artifact> {
    const { direct } = this.#options.blobs;
    requireName(name);
    return this.#store(owner, name, content, async () => {
      if (direct !== null && (await direct.isUploaded(content))) return;
      throw new HeddleError('CONFLICT', 'The content is not in the store', {
        details: ['sha256: was not uploaded, or not whole; ask for an upload again'],
      });
    });
  }

  downloadUrl({ sha256, name }: Artifact, lifeSecs: number): Promise<string | null> {
    const { direct } = this.#options.blobs;
    const fileName = name.split('/').at(-1)!;
    return direct === null
      ? Promise.resolve(null)
      : direct.signDownload(Buffer.from(sha256, 'hex'), fileName, lifeSecs);
  }

  /** @param keep called while the digest is locked: the content cannot be removed meanwhile */
  async #store(
    owner: ArtifactOwner,
    name: string,
    { digest, size }: ContentId,
    keep: () => Promise<void>,
  ): Promise<Artifact> {
    const { database, newId, countMax } = this.#options;
    await database.transaction(async (tx) => {
      const artifact = { id: newId(), ...owner, name, digest, size };
      const refused = await putArtifact(tx, artifact, countMax, this.#time(0));
      if (refused !== null) throw refusal(refused, owner, countMax);
      await keep();
    });
    return (await artifactOfAttempt(database, { ...owner, name }))!;
  }

  list(taskId: string, attempt: number | null): Promise<Artifact[]> {
    return listArtifacts(this.#options.database, taskId, attempt, LIST_MAX);
  }

  get(id: string): Promise<Artifact | null> {
    return getArtifact(this.#options.database, id);
  }

  find(taskId: string, reference: string): Promise<Artifact | null> {
    if (isUuid(reference)) return this.get(reference);
    const at = reference.indexOf('/');
    const [node, name] = [reference.slice(0, at), reference.slice(at + 1)];
    return at < 0 ? Promise.resolve(null) : findArtifact(this.#options.database, taskId, node, name);
  }

  async open(taskId: string, reference: string): Promise<{ artifact: Artifact; content: Readable }> {
    const artifact = await this.find(taskId, reference);
    if (artifact === null) throw noSuchArtifact(reference);
    return { artifact, content: await this.read(artifact) };
  }

  read({ sha256 }: Artifact): Promise<Readable> {
    return this.#options.blobs.read(Buffer.from(sha256, 'hex'));
  }

  pin(id: string, pinned: boolean): Promise<Artifact | null> {
    return pinArtifact(this.#options.database, id, pinned);
  }

  async retain(limit: number): Promise<void> {
    const { database, blobs, clock } = this.#options;
    await deleteLostArtifacts(database, limit);
    await this.#removeUnused(await unusedBlobs(database, this.#time(-UNUSED_MS), limit));
    if (clock.monotonic() < this.#listedAt + LIST_INTERVAL_MS) return;
    this.#listedAt = clock.monotonic();
    // Contents that no row names: their process ended between storing them and its commit.
    for await (const digests of blobs.list(clock.now() - UNUSED_MS)) {
      await this.#removeUnused(await unknownBlobs(database, digests));
    }
    await blobs.removeUnfinished(clock.now() - UNFINISHED_MS);
  }

  async #removeUnused(digests: readonly Buffer[]): Promise<void> {
    const { database, blobs } = this.#options;
    for (let at = 0; at < digests.length; at += REMOVED_PER_SET) {
      const set = digests.slice(at, at + REMOVED_PER_SET);
      await database.transaction(async (tx) => {
        await blobs.remove(await takeUnusedBlobs(tx, set, this.#time(-UNUSED_MS)));
      });
    }
  }

  #time(offsetMs: number): string {
    return new Date(this.#options.clock.now() + offsetMs).toISOString();
  }
}

function noSuchArtifact(reference: string): HeddleError {
  return new HeddleError('NOT_FOUND', `No such artifact: ${reference}`, {
    details: [
      `artifact: must be the id of an artifact, or NODE/NAME with the local_id or the id of the task that stored it`,
    ],
  });
}

function requireName(name: string): void {
  const fault = artifactNameFault(name);
  if (fault !== null) throw new HeddleError('VALIDATION_FAILED', undefined, { details: [`name: ${fault}`] });
}

function refusal(
  refused: 'not_found' | 'stale_attempt' | 'too_many',
  { task_id, attempt }: ArtifactOwner,
  countMax: number,
): HeddleError {
  if (refused === 'not_found') return new HeddleError('NOT_FOUND', `No such task: ${task_id}`);
  if (refused === 'stale_attempt') {
    return new HeddleError('STALE_ATTEMPT', `Attempt ${attempt} of the task has ended; it cannot store artifacts`);
  }
  return new HeddleError('VALIDATION_FAILED', undefined, {
    details: [`name: an attempt may have ${countMax} artifacts (HEDDLE_ARTIFACTS_PER_TASK)`],
  });
}
