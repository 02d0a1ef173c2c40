import { Readable } from 'node:stream';

import { HeddleClient } from '@heddle/client';
import type { Artifact, TaskArtifacts } from '@heddle/core/engine/port';
import type { ServerAddress } from './server-access.ts';

type WireArtifact = Awaited<ReturnType<HeddleClient['artifacts']['get']>>;

/** Artifacts by requests to a server, for workers that do not share its directory. */
export function serverArtifacts({ url, token }: ServerAddress): TaskArtifacts {
  const client = new HeddleClient({ baseUrl: url, ...(token === undefined ? {} : { token }) });
  return {
    put: async ({ task_id: id, attempt }, name, content) =>
      artifactFromWire(await client.work.putArtifact({ id, attempt }, name, Readable.toWeb(Readable.from(content)))),
    open: async (taskId, reference) => {
      const { artifact, content } = await client.work.openArtifact({ id: taskId }, reference);
      return { artifact: artifactFromWire(artifact), content: Readable.fromWeb(content as never) };
    },
  };
}

function artifactFromWire({ created_at, ...artifact }: WireArtifact): Artifact {
  return { ...artifact, created_at: Date.parse(created_at) };
}
