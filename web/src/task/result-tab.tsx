import type { Task } from '@heddle/client';
import { tasks } from '../api/tasks.ts';
import { useLive } from '../data/live.ts';
import { Empty } from '../ui/empty.tsx';
import { Json } from '../ui/json.tsx';
import { Section } from '../ui/page.tsx';
import { Trouble } from '../ui/problem.tsx';
import { Loading } from '../ui/loading.tsx';

/** What the task returned. */
export function ResultTab({ task }: { task: Task }) {
  const { id, status } = task;
  const { data, error, dataUpdatedAt, isPending } = useLive(['result', id, status], (signal) =>
    tasks.result(id, signal),
  );
  if (error !== null) return <Trouble error={error} updatedAtMs={dataUpdatedAt} />;
  if (isPending) return <Loading />;
  if (data === null) {
    return <Empty title={task.ended_at === null ? 'It has not ended yet' : 'It returned nothing'} />;
  }
  return (
    <Section title="Result">
      <Json value={data.data} label="Result" testId="result" />
    </Section>
  );
}
