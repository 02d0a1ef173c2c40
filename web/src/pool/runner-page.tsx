import { Absent } from '../ui/absent.tsx';
import type { Runner } from '@heddle/client';
import { useParams } from 'wouter';
import { operateRunner, pool } from '../api/pool.ts';
import type { RunnerOperation } from '../api/pool.ts';
import { useLive } from '../data/live.ts';
import { refreshAll } from '../data/query-client.ts';
import { useCan } from '../data/session.ts';
import { useSharedNow } from '../times.ts';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy.tsx';
import { ConfirmButton } from '../ui/dialog.tsx';
import { Field, Fields } from '../ui/fields.tsx';
import { Page, Section } from '../ui/page.tsx';
import { Trouble } from '../ui/problem.tsx';
import { Ago } from '../ui/time.tsx';
import { notify, notifyError } from '../ui/toast.tsx';
import { ForWhat } from './requests-view.tsx';
import { RunnerBadge } from './runner-state.tsx';
import { doingOf, wantsOf } from './words.ts';

const LIST = { label: 'Runners', href: '/pool' };

/** One runner: what it does, for whom, and what can be done with it. */
export function RunnerPage() {
  const { id } = useParams<{ id: string }>();
  return <RunnerView key={id} id={id} />;
}

function RunnerView({ id }: { id: string }) {
  const can = useCan();
  const now = useSharedNow();
  const { data: runner, error, dataUpdatedAt } = useLive(['runner', id], (signal) => pool.runner(id, signal));
  if (runner === undefined) {
    return (
      <Absent noun="runner" id={id} list={LIST} error={error} updatedAtMs={dataUpdatedAt}>
        Ended runners are deleted after a while.
      </Absent>
    );
  }
  return (
    <Page
      title={`Runner ${runner.number}`}
      crumbs={[LIST]}
      lead={
        <>
          <RunnerBadge runner={runner} /> · {doingOf(runner, now)} · since <Ago at={runner.state_since} />
        </>
      }
      actions={can('operate') && runner.state !== 'terminated' && <RunnerActions runner={runner} />}
    >
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      <div className="columns">
        <Facts runner={runner} />
        {runner.request_id !== null && <ClaimedFor requestId={runner.request_id} />}
      </div>
    </Page>
  );
}

function Facts({ runner }: { runner: Runner }) {
  const { id, resource_class, usage_class, instance_type, cpu, memory_mib, provider, provider_id, reason } = runner;
  return (
    <Section title="Details" testId="runner-details">
      <Fields>
        <Field label="Class">
          {resource_class}, {usage_class}
        </Field>
        <Field label="Type">{instance_type}</Field>
        <Field label="Size">
          {cpu} {cpu === 1 ? 'processor' : 'processors'}, {memory_mib.toLocaleString()} MiB
        </Field>
        <Field label="Launched by">
          {provider}
          {provider_id !== null && <code className="quiet breakable"> {provider_id}</code>}
        </Field>
        <Field label="Tasks started" title="Claims that it confirmed, of those it was given">
          {runner.uses.toLocaleString()} of {runner.epoch.toLocaleString()} claims
        </Field>
        <Field label="Last heartbeat">
          <Ago at={runner.seen_at} absent="never" />
        </Field>
        <Field label="Created">
          <Ago at={runner.created_at} />
        </Field>
        {runner.until !== null && (
          <Field label="Ends">
            <Ago at={runner.until} /> <span className="quiet">unless its state changes</span>
          </Field>
        )}
        <Field label="Address">{runner.address}</Field>
        <Field label="Reason">{reason}</Field>
        <Field label="ID">
          <CopyText text={id} />
        </Field>
      </Fields>
    </Section>
  );
}

/** The request that a runner was claimed for. */
function ClaimedFor({ requestId }: { requestId: string }) {
  const {
    data: request,
    error,
    dataUpdatedAt,
  } = useLive(['pool', 'request', requestId], (signal) => pool.request(requestId, signal));
  return (
    <Section title="Works for" testId="runner-request">
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      {request !== undefined && (
        <Fields>
          <Field label={request.source === 'task' ? 'Task' : 'Holder'}>
            <ForWhat request={request} />
          </Field>
          <Field label="Tenant">{request.tenant}</Field>
          <Field label="Requested">{wantsOf(request)}</Field>
          <Field label="Asked">
            <Ago at={request.created_at} />
          </Field>
          {request.granted_at !== null && (
            <Field label="Granted">
              <Ago at={request.granted_at} />
            </Field>
          )}
        </Fields>
      )}
    </Section>
  );
}

const DONE: Readonly<Record<RunnerOperation, string>> = {
  release: 'Released',
  drain: 'It ends when it is free',
  terminate: 'Terminated',
};

async function operate({ id, number }: Runner, operation: RunnerOperation): Promise<void> {
  await operateRunner(id, operation);
  notify(DONE[operation], `Runner ${number}`);
  await refreshAll();
}

function RunnerActions({ runner }: { runner: Runner }) {
  const { number, request_id, draining } = runner;
  const isHeld = request_id !== null;
  return (
    <>
      {isHeld && (
        <ConfirmButton
          label="Release"
          verb="Release"
          title={`Release runner ${number}?`}
          onConfirm={() => operate(runner, 'release')}
        >
          It is taken from its request, and granted to the first waiting request or becomes idle.
        </ConfirmButton>
      )}
      {!draining && (
        <Button
          title="Lets it finish its task, and ends it then"
          onClick={() => void operate(runner, 'drain').catch((error: unknown) => notifyError('Not drained', error))}
        >
          Drain
        </Button>
      )}
      <ConfirmButton
        label="Terminate"
        verb="Terminate"
        look="danger"
        title={`Terminate runner ${number}?`}
        onConfirm={() => operate(runner, 'terminate')}
      >
        It ends now.{isHeld && ' Its request waits for another runner; a running task is retried.'}
      </ConfirmButton>
    </>
  );
}
