import { useEffect, useState } from 'react';
import type { Artifact, Task } from '@heddle/client';
import { artifactAddress, listArtifacts } from '../api/client.ts';
import { Problem } from '../problem.tsx';
import { formatBytes } from '../ui/bytes.ts';

/** The files that a task stored, read again whenever the task changes. */
export function ArtifactsSection({ task }: { task: Task }) {
  const [artifacts, setArtifacts] = useState<readonly Artifact[]>([]);
  const [error, setError] = useState<unknown>(null);
  const { id, attempt, status } = task;
  useEffect(() => {
    if (attempt === 0) return undefined;
    const stopped = new AbortController();
    listArtifacts(id, stopped.signal).then(
      (next) => {
        setArtifacts(next);
        setError(null);
      },
      (failure: unknown) => {
        if (!stopped.signal.aborted) setError(failure);
      },
    );
    return () => stopped.abort();
  }, [id, attempt, status]);
  // A link cannot carry the token of the console, a signed address needs none.
  const download = (artifact: Artifact): void => {
    artifactAddress(artifact.id).then((address) => window.location.assign(address), setError);
  };
  if (artifacts.length === 0 && error === null) return null;
  return (
    <section data-testid="artifacts">
      <h3>Artifacts</h3>
      {error !== null && <Problem error={error} />}
      <ul className="artifacts">
        {artifacts.map((artifact) => (
          <li key={artifact.id}>
            <button type="button" className="link breakable" onClick={() => download(artifact)}>
              {artifact.name}
            </button>
            <span className="quiet tabular">
              {' '}
              · {formatBytes(artifact.size)}
              {artifact.attempt !== attempt && ` · attempt ${artifact.attempt}`}
              {artifact.pinned && ' · pinned'}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
