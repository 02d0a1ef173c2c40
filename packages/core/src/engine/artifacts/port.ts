import type { Readable } from 'node:stream';

import type { Artifact } from '@heddle/base/vocabulary/artifact';

/** The attempt that stores an artifact. */
export interface ArtifactOwner {
  task_id: string;
  attempt: number;
}

export type ArtifactContent = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A content by its SHA-256, with its size in bytes. */
export interface ContentId {
  digest: Buffer;
  size: number;
}

/** Where a content is sent with PUT, and the headers that the request must have. */
export interface UploadTarget {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  expires_at: number;
}

/** What runs of tasks do with artifacts. */
export interface TaskArtifacts {
  /**
   * Stores a file, replacing that of the same name and attempt.
   * @throws HeddleError BODY_TOO_LARGE, STALE_ATTEMPT, VALIDATION_FAILED (its name, or too many), NOT_FOUND
   */
  put(owner: ArtifactOwner, name: string, content: ArtifactContent): Promise<Artifact>;
  /**
   * Opens what a task calls `ID` of an artifact, or `NODE/NAME`: of a task of its workflow, or of any task by its id.
   * @throws HeddleError NOT_FOUND
   */
  open(taskId: string, reference: string): Promise<{ artifact: Artifact; content: Readable }>;
}

/** Artifacts of the system. */
export interface Artifacts extends TaskArtifacts {
  /** Returns those of an attempt, by name; null: of all attempts, the newest first. */
  list(taskId: string, attempt: number | null): Promise<Artifact[]>;
  get(id: string): Promise<Artifact | null>;
  /**
   * Returns where a worker may send a content itself; null: only through the server.
   * @throws HeddleError VALIDATION_FAILED (its name), BODY_TOO_LARGE
   */
  uploadTarget(name: string, content: ContentId): Promise<UploadTarget | null>;
  /**
   * Stores a file whose content was sent there, as `put` does.
   * @throws HeddleError CONFLICT if it is not there
   */
  putUploaded(owner: ArtifactOwner, name: string, content: ContentId): Promise<Artifact>;
  /** Returns a URL that serves the content without the server; null if there is none. */
  downloadUrl(artifact: Artifact, lifeSecs: number): Promise<string | null>;
  find(taskId: string, reference: string): Promise<Artifact | null>;
  read(artifact: Artifact): Promise<Readable>;
  /** Returns the artifact; null if there is none. */
  pin(id: string, pinned: boolean): Promise<Artifact | null>;
  /** Removes what crashed attempts and deleted tasks left behind. */
  retain(limit: number): Promise<void>;
}

/** A content that has arrived and may not be stored under its digest yet. */
export interface ReceivedBlob extends ContentId {
  /** Stores it under its digest; the same content may be there already. */
  keep(): Promise<void>;
  discard(): Promise<void>;
}

/** Where contents are, by their SHA-256. */
export interface BlobStore {
  /** @throws HeddleError BODY_TOO_LARGE; nothing is left behind then */
  receive(content: ArtifactContent, bytesMax: number): Promise<ReceivedBlob>;
  /** @throws Error if it is missing */
  read(digest: Buffer): Promise<Readable>;
  remove(digests: readonly Buffer[]): Promise<void>;
  /** Yields contents that were stored before a time, milliseconds since the epoch, in sets. */
  list(before: number): AsyncIterable<Buffer[]>;
  /** Removes what arrived in part before a time. */
  removeUnfinished(before: number): Promise<void>;
  /** Null if contents pass through this process only. */
  readonly direct: DirectTransfers | null;
}

/** Transfers between the store and the holder of a signed URL. */
export interface DirectTransfers {
  /** Null if the store would accept another content under the digest. */
  signUpload(content: ContentId): Promise<UploadTarget | null>;
  isUploaded(content: ContentId): Promise<boolean>;
  signDownload(digest: Buffer, fileName: string, lifeSecs: number): Promise<string>;
}
