import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { access, constants, readdir, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';

import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { messageOf } from '@heddle/base/thrown';
import type { BlobStore, ContentId } from '@heddle/core/engine/port';
import { artifactsDirectoryOf, blobStoreOf, bytesMaxOf } from './artifacts/open.ts';
import { fail, ok, warn, type Check } from './check.ts';
import type { SettingValues } from './settings.ts';

const NAME = 'artifacts';
const CONTENT_BYTES = 1024;
const MIB = 1024 * 1024;

/** Checks the store of artifacts by storing, reading, listing and removing a content. */
export async function checkArtifacts(settings: SettingValues): Promise<Check[]> {
  if (settings.artifactsS3 !== '') return [await checkBucket(settings)];
  const directory = artifactsDirectoryOf(settings);
  return existsSync(directory) ? checkDirectory(settings, directory) : [await checkParent(directory)];
}

/** A step of the check, and what to do if it fails. */
interface Step {
  name: string;
  remedy: string;
  run: () => Promise<unknown>;
}

async function checkBucket(settings: SettingValues): Promise<Check> {
  const blobs = blobStoreOf(settings, { clock: systemClock, log: silentLogger });
  const rights = 'allow the credentials of this process';
  const trial = new Trial(blobs);
  const failed = await failureOf([
    {
      name: 'store',
      remedy: `check HEDDLE_ARTIFACTS_S3 and the credentials in the environment, and ${rights} s3:PutObject`,
      run: () => trial.store(),
    },
    { name: 'read', remedy: `${rights} s3:GetObject`, run: () => trial.read() },
    {
      name: 'list',
      remedy: `${rights} s3:ListBucket for the bucket`,
      run: () => blobs.list(0)[Symbol.asyncIterator]().next(),
    },
    { name: 'remove', remedy: `${rights} s3:DeleteObject`, run: () => trial.remove() },
  ]);
  if (failed !== null) return failed;
  const upload = await blobs.direct?.signUpload(trial.content).catch((error: unknown) => messageOf(error));
  const where = settings.artifactsS3.split('?')[0]!;
  if (typeof upload === 'string') {
    return fail(
      NAME,
      `could not test the checksums of ${where}: ${upload}`,
      `${rights} s3:PutObject and s3:DeleteObject`,
    );
  }
  if (upload === null) {
    const message = `${where} works, but ignores checksums: workers upload through the server`;
    return warn(NAME, message, 'use a service that verifies x-amz-checksum-sha256, or expect that load on the server');
  }
  return ok(NAME, `${where}: stored, read, listed and removed; checksums are verified`);
}

async function checkDirectory(settings: SettingValues, directory: string): Promise<Check[]> {
  const blobs = blobStoreOf(settings, { clock: systemClock, log: silentLogger });
  const trial = new Trial(blobs);
  const remedy = `give this user write permission for ${directory} and what is in it, or set HEDDLE_ARTIFACTS_DIR`;
  const failed = await failureOf([
    { name: 'store', remedy, run: () => trial.store() },
    { name: 'read', remedy, run: () => trial.read() },
    { name: 'remove', remedy, run: () => trial.remove() },
  ]);
  if (failed !== null) return [failed];
  const mounted = await foldersOfOtherDevices(directory);
  if (mounted.length > 0) {
    const message = `${mounted.join(', ')} in ${directory} on another file system, where contents cannot be renamed to`;
    return [fail(NAME, message, 'mount the directory as a whole, not a part of it')];
  }
  return [await checkSpace(settings, directory)];
}

async function checkSpace(settings: SettingValues, directory: string): Promise<Check> {
  const { bavail, bsize } = await statfs(directory);
  const free = bavail * bsize;
  const message = `${directory}, ${Math.floor(free / MIB)} MiB free`;
  if (free >= bytesMaxOf(settings)) return ok(NAME, message);
  const remedy = 'free some, set HEDDLE_ARTIFACTS_DIR to a larger file system, or lower HEDDLE_ARTIFACT_MB';
  return warn(
    NAME,
    `${message}, less than one artifact may have (HEDDLE_ARTIFACT_MB=${settings.artifactMaxMb})`,
    remedy,
  );
}

async function checkParent(directory: string): Promise<Check> {
  let nearest = directory;
  while (!existsSync(nearest)) nearest = dirname(nearest);
  try {
    await access(nearest, constants.W_OK | constants.X_OK);
    return ok(NAME, `${directory} (created with the first artifact)`);
  } catch {
    return fail(NAME, `${nearest} is not writable`, 'give this user write permission, or set HEDDLE_ARTIFACTS_DIR');
  }
}

async function foldersOfOtherDevices(directory: string): Promise<string[]> {
  const { dev } = await stat(directory);
  const names = await readdir(directory);
  const devices = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).dev));
  return names.filter((_name, index) => devices[index] !== dev);
}

/** Runs steps until one fails; returns that failure, null if all succeed. */
async function failureOf(steps: readonly Step[]): Promise<Check | null> {
  for (const { name, remedy, run } of steps) {
    try {
      await run();
    } catch (error) {
      return fail(NAME, `could not ${name} a content: ${messageOf(error)}`, remedy);
    }
  }
  return null;
}

/** A content that no artifact has. */
class Trial {
  readonly #blobs: BlobStore;
  readonly #bytes = randomBytes(CONTENT_BYTES);
  content!: ContentId;

  constructor(blobs: BlobStore) {
    this.#blobs = blobs;
  }

  async store(): Promise<void> {
    const received = await this.#blobs.receive([this.#bytes], CONTENT_BYTES);
    this.content = { digest: received.digest, size: received.size };
    await received.keep();
    await received.discard();
  }

  async read(): Promise<void> {
    const read = await buffer(await this.#blobs.read(this.content.digest));
    if (!read.equals(this.#bytes)) throw new Error('it has changed');
  }

  remove(): Promise<void> {
    return this.#blobs.remove([this.content.digest]);
  }
}
