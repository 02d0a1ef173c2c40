import { useCallback } from 'react';
import { getRequest, operateRunner } from '../api/pool.ts';
import type { Runner } from '@heddle/client';
import type { RunnerOperation } from '../api/pool.ts';
import { ConfirmButton } from '../confirm-button.tsx';
import { Field, FieldList, Moment } from '../list/fields.tsx';
import { useOperation } from '../live/use-operation.ts';
import { usePolled } from '../live/use-polled.ts';
import { Problem } from '../problem.tsx';
import { wantsOf } from './words.ts';

/** Details of a runner, its request, and its actions. */
export function RunnerDetails({ runner, now, onDone }: { runner: Runner; now: number; onDone: () => void }) {
  return (
    <div className="row-details" data-testid="runner-details">
      <RunnerFields runner={runner} now={now} />
      <div>
        {runner.request_id !== null && <ClaimedFor requestId={runner.request_id} now={now} />}
        {runner.state !== 'terminated' && <RunnerActions runner={runner} onDone={onDone} />}
      </div>
    </div>
  );
}

function RunnerFields({ runner, now }: { runner: Runner; now: number }) {
  const { id, cpu, memory_mib, provider, provider_id, epoch, uses, until, seen_at, address, reason } = runner;
  return (
    <FieldList>
      <Field name="ID">
        <span className="mono breakable">{id}</span>
      </Field>
      <Field name="Size">
        {cpu} processors, {memory_mib.toLocaleString()} MiB
      </Field>
      <Field name="Provider">
        {provider}
        {provider_id !== null && <span className="quiet mono"> {provider_id}</span>}
      </Field>
      <Field name="Claims">
        {epoch.toLocaleString()}, {uses.toLocaleString()} confirmed
      </Field>
      <Field name="Last heartbeat">
        {seen_at === null ? <span className="quiet">never</span> : <Moment at={seen_at} now={now} />}
      </Field>
      {until !== null && (
        <Field name="Ends">
          <Moment at={until} now={now} /> <span className="quiet">unless its state changes</span>
        </Field>
      )}
      {address !== null && <Field name="Address">{address}</Field>}
      {reason !== null && <Field name="Reason">{reason}</Field>}
    </FieldList>
  );
}

/** The request that a runner was claimed for. */
function ClaimedFor({ requestId, now }: { requestId: string; now: number }) {
  const read = useCallback((signal: AbortSignal) => getRequest(requestId, signal), [requestId]);
  const { value, error } = usePolled(read);
  if (error !== null) return <Problem error={error} />;
  if (value === null) return <p className="quiet">Loading…</p>;
  const { source, run, attempt, tenant, granted_at } = value;
  return (
    <FieldList>
      <Field name="For">
        {source === 'task' ? (
          <>
            task <span className="mono breakable">{run}</span>
            {attempt !== null && attempt > 1 && <span className="quiet"> attempt {attempt}</span>}
          </>
        ) : (
          run
        )}
      </Field>
      <Field name="Tenant">{tenant}</Field>
      <Field name="Requested">{wantsOf(value)}</Field>
      {granted_at !== null && (
        <Field name="Granted">
          <Moment at={granted_at} now={now} />
        </Field>
      )}
    </FieldList>
  );
}

function RunnerActions({ runner, onDone }: { runner: Runner; onDone: () => void }) {
  const { busy, error, run } = useOperation(onDone);
  const operate = (operation: RunnerOperation): void => run(() => operateRunner(runner.id, operation));
  const isHeld = runner.request_id !== null;
  return (
    <>
      <div className="actions" role="group" aria-label={`Actions of runner ${runner.number}`}>
        {isHeld && (
          <ConfirmButton
            label="Release"
            title={`Release runner ${runner.number}?`}
            verb="Release"
            refusal="Cancel"
            disabled={busy}
            onConfirm={() => operate('release')}
          >
            <p>It is taken from its request, and granted to the first waiting request or becomes idle.</p>
          </ConfirmButton>
        )}
        {!runner.draining && (
          <button type="button" disabled={busy} onClick={() => operate('drain')}>
            Drain
          </button>
        )}
        <ConfirmButton
          label="Terminate"
          title={`Terminate runner ${runner.number}?`}
          verb="Terminate"
          refusal="Cancel"
          danger
          disabled={busy}
          onConfirm={() => operate('terminate')}
        >
          <p>It ends now. {isHeld ? 'Its request waits for another runner; a running task is retried.' : ''}</p>
        </ConfirmButton>
      </div>
      {error !== null && <Problem error={error} />}
    </>
  );
}
