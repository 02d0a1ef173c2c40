import type { ArtifactDto, ArtifactUrlDto } from './wire-types.ts';
import type { Transport } from './transport.ts';

/** Files of tasks. */
export class ArtifactsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns those of all attempts of a task, the newest first. */
  list(taskId: string, filter: { attempt?: number } = {}): Promise<ArtifactDto[]> {
    return this.#transport.json('GET', `/v1/tasks/${encodeURIComponent(taskId)}/artifacts`, { query: { ...filter } });
  }

  get(id: string): Promise<ArtifactDto> {
    return this.#transport.json('GET', artifactPath(id));
  }

  /** Returns the content as a stream. */
  async download(id: string): Promise<ReadableStream<Uint8Array>> {
    const { body } = await this.#transport.send('GET', `${artifactPath(id)}/content`);
    return body!;
  }

  /** Returns a URL from which anyone can download it until it expires. */
  url(id: string, expiresInSecs?: number): Promise<ArtifactUrlDto> {
    const body = expiresInSecs === undefined ? {} : { expires_in_secs: expiresInSecs };
    return this.#transport.json('POST', `${artifactPath(id)}/url`, { body });
  }

  /** A pinned artifact is kept when its task is deleted. */
  pin(id: string, pinned = true): Promise<ArtifactDto> {
    return this.#transport.json('PATCH', artifactPath(id), { body: { pinned } });
  }
}

function artifactPath(id: string): string {
  return `/v1/artifacts/${encodeURIComponent(id)}`;
}
