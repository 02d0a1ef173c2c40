import { Redirect } from 'wouter';
import { useFilters } from '../data/filters.ts';
import { Page } from '../ui/page.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { Overview } from './overview.tsx';
import { RequestsView } from './requests-view.tsx';
import { RunnersView } from './runners-view.tsx';

const VIEWS = ['runners', 'waiting', 'granted'] as const;

/** Runners: how many of each class there are, what they do, and which requests wait for them. */
export function PoolPage() {
  const [{ view, runner, class: resourceClass }, change] = useFilters(['view', 'runner', 'class']);
  // Older addresses name the runner in the query.
  if (runner !== '') return <Redirect to={`/pool/${encodeURIComponent(runner)}`} replace />;
  const chosen = VIEWS.find((name) => name === view) ?? 'runners';
  return (
    <Page
      title="Runners"
      lead="A runner is a process or a machine that runs one task at a time. Tasks with requirements get one of their own."
    >
      <Overview resourceClass={resourceClass} onClass={(name) => change({ class: name })} />
      <div className="section">
        <Tabs
          label="View"
          chosen={chosen}
          onChoose={(name) => change({ view: name === 'runners' ? '' : name })}
          tabs={[
            { name: 'runners', label: 'Runners', content: () => <RunnersView /> },
            {
              name: 'waiting',
              label: 'Waiting requests',
              content: () => <RequestsView key="waiting" state="waiting" />,
            },
            {
              name: 'granted',
              label: 'Granted requests',
              content: () => <RequestsView key="granted" state="granted" />,
            },
          ]}
        />
      </div>
    </Page>
  );
}
