import type { Artifact, Task } from '@heddle/client';
import { artifactAddress } from '../api/client.ts';
import { pinArtifact, tasks } from '../api/tasks.ts';
import { useLive } from '../data/live.ts';
import { refreshAll } from '../data/query-client.ts';
import { useCan } from '../data/session.ts';
import { Button } from '../ui/button.tsx';
import { Empty } from '../ui/empty.tsx';
import { Trouble } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { notifyError } from '../ui/toast.tsx';
import { formatBytes } from '../ui/bytes.ts';
import { Loading } from '../ui/loading.tsx';

/** The files that the task stored. */
export function ArtifactsTab({ task }: { task: Task }) {
  const { id, status } = task;
  const can = useCan();
  const { data, error, dataUpdatedAt } = useLive(['artifacts', id, status], (signal) => tasks.artifacts(id, signal));
  if (error !== null) return <Trouble error={error} updatedAtMs={dataUpdatedAt} />;
  if (data === undefined) return <Loading />;
  if (data.length === 0) {
    return (
      <Empty title="It stored no files">
        Commands store those that match their <code>artifacts</code>, kinds call <code>context.artifacts.put</code>.
      </Empty>
    );
  }
  const columns = can('operate') ? [...COLUMNS, PIN] : COLUMNS;
  return <Table label="Artifacts" columns={columns} rows={data} rowId={(artifact) => artifact.id} />;
}

const COLUMNS: readonly Column<Artifact>[] = [
  {
    header: 'Name',
    grow: true,
    cell: (artifact) => (
      <Button look="plain" className="breakable" onClick={() => download(artifact)}>
        {artifact.name}
      </Button>
    ),
  },
  {
    header: 'Size',
    number: true,
    cell: ({ size }) => <span title={`${size.toLocaleString()} bytes`}>{formatBytes(size)}</span>,
  },
  { header: 'Attempt', number: true, cell: ({ attempt }) => attempt },
  { header: 'Stored', cell: ({ created_at }) => <Ago at={created_at} /> },
  { header: 'SHA-256', optional: true, cell: ({ sha256 }) => <code title={sha256}>{sha256.slice(0, 12)}</code> },
];

const PIN: Column<Artifact> = {
  header: 'Kept',
  cell: ({ id, pinned }) => (
    <Button
      look="plain"
      title={pinned ? 'Delete it with its task' : 'Keep it when its task is deleted'}
      onClick={() =>
        void pinArtifact(id, !pinned).then(refreshAll, (error: unknown) => notifyError('Not changed', error))
      }
    >
      {pinned ? 'Unpin' : 'Pin'}
    </Button>
  ),
};

/** The address is signed, so that the browser can download it by itself. */
function download({ id, name }: Artifact): void {
  artifactAddress(id).then(
    (address) => window.location.assign(address),
    (error: unknown) => notifyError(`${name} cannot be downloaded`, error),
  );
}
