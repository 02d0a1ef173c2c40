import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { newId } from '@heddle/base/random';
import type { HeddleClient } from '@heddle/client';
import type { Artifact, TaskArtifacts } from '@heddle/core/engine/port';
import { clientOf, type ServerAddress } from '../server-access.ts';
import { spoolContent, type SpooledContent } from './spool.ts';

type WireArtifact = Awaited<ReturnType<HeddleClient['artifacts']['get']>>;
type Upload = NonNullable<Awaited<ReturnType<HeddleClient['work']['upload']>>>;

export interface ServerArtifactsOptions {
  server: ServerAddress;
  /** Largest artifact, bytes. */
  bytesMax: number;
  /** Name in the claim of the tasks, if it had one. */
  holder?: string;
}

/**
 * Artifacts by requests to a server, for workers that do not share its store. Contents go to the store itself where it
 * has signed URLs.
 */
export function serverArtifacts({ server, bytesMax, holder }: ServerArtifactsOptions): TaskArtifacts {
  const { work } = clientOf(server);
  const named = holder === undefined ? {} : { holder };
  return {
    put: async ({ task_id: id, attempt }, name, content) => {
      const task = { id, attempt, ...named };
      const spooled = await spoolContent(
        { directory: join(tmpdir(), 'heddle-artifacts'), name: newId() },
        content,
        bytesMax,
      );
      try {
        const described = { name, size: spooled.size, sha256: spooled.digest.toString('hex') };
        const upload = await work.upload(task, described);
        if (upload === null)
          return artifactFromWire(await work.putArtifact(task, name, Readable.toWeb(spooled.read())));
        await send(upload, spooled);
        return artifactFromWire(await work.uploaded(task, described));
      } finally {
        await spooled.close();
      }
    },
    open: async (taskId, reference) => {
      const { artifact, content } = await work.openArtifact({ id: taskId, ...named }, reference);
      return { artifact: artifactFromWire(artifact), content: Readable.fromWeb(content as never) };
    },
  };
}

async function send({ url, headers }: Upload, content: SpooledContent): Promise<void> {
  const body = Readable.toWeb(content.read());
  const response = await fetch(url, { method: 'PUT', headers, body, duplex: 'half' });
  if (response.ok) return;
  const said = (await response.text()).slice(0, 500);
  throw new Error(`the store of artifacts refused the upload: HTTP ${response.status} ${said}`);
}

function artifactFromWire({ created_at, ...artifact }: WireArtifact): Artifact {
  return { ...artifact, created_at: Date.parse(created_at) };
}
