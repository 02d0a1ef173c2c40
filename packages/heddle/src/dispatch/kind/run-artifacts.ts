import type { ArtifactContent, TaskArtifacts } from '@heddle/core/engine/port';
import type { KindContext, KindTask } from '@heddle/kit';

/** Returns the artifacts of a run as its handler sees them. */
export function artifactsOfRun(artifacts: TaskArtifacts | null, task: KindTask): KindContext['artifacts'] {
  const { id: task_id, attempt } = task;
  const require = (): TaskArtifacts => {
    if (artifacts !== null) return artifacts;
    throw new Error(
      'this worker cannot store artifacts: set HEDDLE_URL, or HEDDLE_ARTIFACTS_DIR to that of the server',
    );
  };
  return {
    put: async (name, content) => {
      const { id, size, sha256 } = await require().put({ task_id, attempt }, name, bytesOf(content));
      return { id, name, size, sha256 };
    },
    get: async (reference) => (await require().open(task_id, reference)).content,
  };
}

function bytesOf(content: string | Uint8Array | AsyncIterable<Uint8Array | string>): ArtifactContent {
  if (typeof content === 'string') return [Buffer.from(content)];
  return content instanceof Uint8Array ? [content] : chunksOf(content);
}

async function* chunksOf(content: AsyncIterable<Uint8Array | string>): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}
