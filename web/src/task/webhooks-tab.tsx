import type { Task } from '@heddle/client';
import { replayDelivery, webhooksOfTask } from '../api/webhooks.ts';
import type { Delivery } from '../api/webhooks.ts';
import { useLive } from '../data/live.ts';
import { refreshAll } from '../data/query-client.ts';
import { useCan } from '../data/session.ts';
import { Button } from '../ui/button.tsx';
import { Empty } from '../ui/empty.tsx';
import { Json } from '../ui/json.tsx';
import { Section } from '../ui/page.tsx';
import { Trouble } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { notify, notifyError } from '../ui/toast.tsx';
import { Loading } from '../ui/loading.tsx';

/** Calls that the task caused, and the actions that define them. */
export function WebhooksTab({ task }: { task: Task }) {
  const { id } = task;
  const can = useCan();
  const { data, error, dataUpdatedAt } = useLive(['webhooks', id], (signal) => webhooksOfTask(id, signal));
  if (error !== null) return <Trouble error={error} updatedAtMs={dataUpdatedAt} />;
  if (data === undefined) return <Loading />;
  return (
    <>
      {data.length === 0 ? (
        <Empty title="It has called no webhook" />
      ) : (
        <Table
          label="Deliveries"
          columns={can('operate') ? [...COLUMNS, REPLAY] : COLUMNS}
          rows={data}
          rowId={(delivery) => delivery.id}
        />
      )}
      {task.actions.length > 0 && (
        <Section title="Actions">
          <Json value={task.actions} label="Actions" />
        </Section>
      )}
    </>
  );
}

const COLUMNS: readonly Column<Delivery>[] = [
  { header: 'Trigger', cell: ({ action }) => action.trigger },
  { header: 'State', cell: ({ state }) => state },
  { header: 'Tries', number: true, cell: ({ tries }) => tries },
  {
    header: 'Last answer',
    grow: true,
    cell: ({ last_status, last_error }) => (
      <span title={last_error ?? undefined}>{[last_status, last_error].filter((part) => part !== null).join(' ')}</span>
    ),
  },
  { header: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
  { header: 'Next try', cell: ({ next_try_at }) => <Ago at={next_try_at} /> },
];

const REPLAY: Column<Delivery> = {
  header: 'Replay',
  cell: ({ id, state }) =>
    state === 'dead' && (
      <Button
        onClick={() =>
          void replayDelivery(id).then(
            () => {
              notify('It is sent again');
              return refreshAll();
            },
            (error: unknown) => notifyError('Not sent again', error),
          )
        }
      >
        Replay
      </Button>
    ),
};
