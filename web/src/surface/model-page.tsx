import { Absent } from '../ui/absent.tsx';
import type { Model } from '@heddle/client';
import { useParams } from 'wouter';
import { models } from '../api/models.ts';
import { useLive } from '../data/live.ts';
import { EventList } from '../ui/event-list.tsx';
import { Json } from '../ui/json.tsx';
import { Page, Section } from '../ui/page.tsx';
import { Trouble } from '../ui/problem.tsx';
import { Ago } from '../ui/time.tsx';
import { HostContent } from './host-content.tsx';
import { changesOf } from './model-changes.tsx';
import { ModelFacts } from './model-facts.tsx';
import { ModelBadge } from './model-state.tsx';
import { VIEWS } from './columns.tsx';
import { subjectOf } from './columns.tsx';

/** One thing that scans found: a host with all that belongs to it, or a service, a name, a certificate. */
export function ModelPage() {
  const { id } = useParams<{ id: string }>();
  return <ModelView key={id} id={id} />;
}

const LIST = { label: 'Surface', href: '/surface' };

function ModelView({ id }: { id: string }) {
  const { data: model, error, dataUpdatedAt } = useLive(['model', id], (signal) => models.get(id, signal));
  if (model === undefined) {
    return (
      <Absent noun="model" id={id} list={LIST} error={error} updatedAtMs={dataUpdatedAt}>
        Retention deletes models some time after they are gone.
      </Absent>
    );
  }
  const view = model.model in VIEWS ? VIEWS[model.model as keyof typeof VIEWS] : null;
  const crumbs = view === null ? [LIST] : [LIST, { label: view.label, href: `/surface?model=${model.model}` }];
  return (
    <Page title={titleOf(model)} crumbs={crumbs} lead={<Lead model={model} />}>
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      {model.model === 'host' ? <HostContent host={model} /> : <OtherContent model={model} />}
      <details className="raw-data">
        <summary>Data as stored</summary>
        <Json value={model.data} label="Data" />
      </details>
    </Page>
  );
}

function titleOf(model: Model): string {
  return model.model === 'certificate' ? subjectOf(model) : model.key;
}

function Lead({ model }: { model: Model }) {
  const { target, first_seen, last_seen, runs } = model;
  return (
    <>
      <ModelBadge {...model} /> · target {target} · first seen <Ago at={first_seen} />, last seen <Ago at={last_seen} />
      , in {runs.toLocaleString()} {runs === 1 ? 'run' : 'runs'}
    </>
  );
}

function OtherContent({ model }: { model: Model }) {
  return (
    <div className="columns">
      <Section title="Details" testId="model-details">
        <ModelFacts model={model} />
      </Section>
      <Section title="History" testId="model-history">
        <EventList events={changesOf(model)} />
      </Section>
    </div>
  );
}
