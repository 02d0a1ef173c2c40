import type { Task } from '@heddle/client';
import { useParams } from 'wouter';
import { ApiError } from '../api/client.ts';
import { tasks } from '../api/tasks.ts';
import { useFilters } from '../data/filters.ts';
import { useLive } from '../data/live.ts';
import { LinkButton } from '../ui/button.tsx';
import { Page } from '../ui/page.tsx';
import { Trouble } from '../ui/problem.tsx';
import { STATE, stateOf } from '../ui/state.ts';
import { StateBadge } from '../ui/state.tsx';
import { Tabs } from '../ui/tabs.tsx';
import type { Tab } from '../ui/tabs.tsx';
import { Took } from '../ui/time.tsx';
import { ArtifactsTab } from './artifacts-tab.tsx';
import { AttemptsTab } from './attempts-tab.tsx';
import { InputTab } from './input-tab.tsx';
import { LogTab } from './log-tab.tsx';
import { ResultTab } from './result-tab.tsx';
import { SummaryTab } from './summary-tab.tsx';
import { TaskActions } from './task-actions.tsx';
import { useRunOf } from './use-run-of.ts';
import { WebhooksTab } from './webhooks-tab.tsx';
import { Loading } from '../ui/loading.tsx';

type TabName = 'summary' | 'attempts' | 'logs' | 'input' | 'result' | 'artifacts' | 'webhooks';

const TABS: readonly (Omit<Tab<TabName>, 'content'> & { content: (task: Task) => React.ReactNode })[] = [
  { name: 'summary', label: 'Summary', content: (task) => <SummaryTab task={task} /> },
  { name: 'attempts', label: 'Attempts', content: (task) => <AttemptsTab task={task} /> },
  { name: 'logs', label: 'Logs', content: (task) => <LogTab task={task} /> },
  { name: 'input', label: 'Input', content: (task) => <InputTab task={task} /> },
  { name: 'result', label: 'Result', content: (task) => <ResultTab task={task} /> },
  { name: 'artifacts', label: 'Artifacts', content: (task) => <ArtifactsTab task={task} /> },
  { name: 'webhooks', label: 'Webhooks', content: (task) => <WebhooksTab task={task} /> },
];

/** One task, at an address of its own. */
export function TaskPage() {
  const { id } = useParams<{ id: string }>();
  const { data: task, error, dataUpdatedAt } = useLive(['task', id], (signal) => tasks.get(id, signal));
  const { data: run } = useRunOf(task);
  if (task === undefined && error instanceof ApiError && (error.status === 404 || error.status === 400)) {
    return <NoSuchTask id={id} />;
  }
  if (task === undefined) {
    return (
      <Page title="Task">{error === null ? <Loading /> : <Trouble error={error} updatedAtMs={dataUpdatedAt} />}</Page>
    );
  }
  return (
    <Page
      title={task.name}
      crumbs={[
        { label: 'Runs', href: '/runs' },
        { label: run?.title ?? 'Run', href: `/runs/${task.batch_id}` },
      ]}
      lead={<Lead task={task} />}
      actions={<TaskActions task={task} />}
    >
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      <TaskTabs task={task} />
    </Page>
  );
}

/** The parts of a task; the chosen one is kept in the address. */
export function TaskTabs({ task }: { task: Task }) {
  const [{ tab }, change] = useFilters(['tab']);
  const chosen = TABS.find(({ name }) => name === tab)?.name ?? 'summary';
  return (
    <Tabs
      label="Parts of the task"
      tabs={TABS.map((each) => ({ ...each, content: () => each.content(task) }))}
      chosen={chosen}
      onChoose={(name) => change({ tab: name === 'summary' ? '' : name })}
    />
  );
}

/** The state of a task, its kind, and how long it ran. */
export function Lead({ task }: { task: Task }) {
  const state = stateOf(task.status);
  return (
    <span className="lead-line">
      <StateBadge state={state} />
      <span>{task.kind}</span>
      {task.started_at !== null && (
        <span className="quiet">
          {STATE[state].ended ? 'ran' : 'running for'} <Took from={task.started_at} to={task.ended_at} />
        </span>
      )}
      {task.attempt > 1 && <span className="quiet">attempt {task.attempt}</span>}
    </span>
  );
}

function NoSuchTask({ id }: { id: string }) {
  return (
    <Page title="No such task">
      <p>
        This server has no task <code className="breakable">{id}</code>. Retention may have deleted it, or it belongs to
        another server.
      </p>
      <p>
        <LinkButton href="/runs">Runs</LinkButton>
      </p>
    </Page>
  );
}
