import { Readable } from 'node:stream';

import type { HeddleClient } from '@heddle/client';
import type { Artifact, TaskArtifacts } from '@heddle/core/engine/port';
import { clientOf, type ServerAddress } from './server-access.ts';

type WireArtifact = Awaited<ReturnType<HeddleClient['artifacts']['get']>>;

/**
 * Artifacts by requests to a server, for workers that do not share its directory.
 * @param holder name in the claim of the tasks, if it had one
 */
export function serverArtifacts(server: ServerAddress, holder?: string): TaskArtifacts {
  const client = clientOf(server);
  const named = holder === undefined ? {} : { holder };
  return {
    put: async ({ task_id: id, attempt }, name, content) =>
      artifactFromWire(
        await client.work.putArtifact({ id, attempt, ...named }, name, Readable.toWeb(Readable.from(content))),
      ),
    open: async (taskId, reference) => {
      const { artifact, content } = await client.work.openArtifact({ id: taskId, ...named }, reference);
      return { artifact: artifactFromWire(artifact), content: Readable.fromWeb(content as never) };
    },
  };
}

function artifactFromWire({ created_at, ...artifact }: WireArtifact): Artifact {
  return { ...artifact, created_at: Date.parse(created_at) };
}
