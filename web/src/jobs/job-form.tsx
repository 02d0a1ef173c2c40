import type { JobDetail } from '@heddle/client';
import { useState } from 'react';
import type { SyntheticEvent } from 'react';
import { useLocation } from 'wouter';
import { storeJob } from '../api/jobs.ts';
import { jobAddress } from '../data/addresses.ts';
import { faultsOf } from '../data/faults.ts';
import { queryClient, refreshAll } from '../data/query-client.ts';
import { Button, LinkButton } from '../ui/button.tsx';
import { Faults, FormField } from '../ui/form-field.tsx';
import { JsonEditor } from '../ui/json-editor.tsx';
import { Page } from '../ui/page.tsx';
import { ProblemBox } from '../ui/problem.tsx';
import { useDocumentSchema } from '../submit/use-document-schema.ts';
import { notify } from '../ui/toast.tsx';
import { bodyOf, draftOf, FIELDS } from './job-draft.ts';
import type { Draft } from './job-draft.ts';
import { CATCH_UP_LABEL, OVERLAP_LABEL } from './schedule.tsx';
import { SchedulePreview } from './schedule-preview.tsx';

/** Creates a job, or changes the one given. */
export function JobForm({ job: current = null }: { job?: JobDetail | null }) {
  // What others change meanwhile is no change of this form.
  const [job] = useState(current);
  const [draft, setDraft] = useState(() => draftOf(job));
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const [, navigate] = useLocation();
  const back = job === null ? '/schedules' : jobAddress(job.name);
  const save = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const body = bodyOf(draft, job);
      const { name, warnings } =
        body === null ? { name: job!.name, warnings: [] } : await storeJob(job?.id ?? null, body);
      if (body !== null) notify(job === null ? 'Job created' : 'Job changed', name);
      for (const { message } of warnings) notify('Check the workflow', message);
      queryClient.removeQueries({ queryKey: ['job', job?.name ?? name] });
      navigate(jobAddress(name));
      await refreshAll();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const { byField, other } = faultsOf(error, FIELDS);
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  return (
    <Page
      title={job === null ? 'New job' : `Edit ${job.name}`}
      crumbs={[{ label: 'Schedules', href: '/schedules' }, ...(job === null ? [] : [{ label: job.name, href: back }])]}
    >
      <form
        className="form"
        noValidate
        onSubmit={(event: SyntheticEvent) => {
          event.preventDefault();
          void save();
        }}
      >
        <FormFields draft={draft} set={set} faults={byField} error={error} isNew={job === null} />
        {other !== null && <ProblemBox error={other} />}
        <div className="form-actions">
          <Button type="submit" look="primary" disabled={isBusy}>
            {job === null ? 'Create job' : 'Save changes'}
          </Button>
          <LinkButton href={back}>Cancel</LinkButton>
        </div>
      </form>
    </Page>
  );
}

interface FieldsProps {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  faults: ReturnType<typeof faultsOf<(typeof FIELDS)[number]>>['byField'];
  /** Why the server refused the job. */
  error: unknown;
  isNew: boolean;
}

function FormFields({ draft, set, faults, error, isNew }: FieldsProps) {
  const schema = useDocumentSchema('workflow', draft.workflow);
  const text = (name: 'name' | 'cron' | 'time_zone' | 'recurrence') => ({
    className: 'input',
    value: draft[name],
    autoComplete: 'off',
    spellCheck: false,
    onChange: (event: { target: { value: string } }) => set({ [name]: event.target.value }),
  });
  return (
    <>
      <FormField label="Name" faults={faults.name} hint="Letters, digits, and . _ - in between; 100 at most.">
        {(control) => <input {...control} {...text('name')} autoFocus={isNew} />}
      </FormField>
      <div className="form-row">
        <FormField
          label="Schedule"
          faults={faults.cron}
          hint="Minute, hour, day of month, month, weekday; or @hourly, @daily, @weekly."
        >
          {(control) => <input {...control} {...text('cron')} className="input mono" placeholder="30 2 * * *" />}
        </FormField>
        <FormField label="Time zone" faults={faults.time_zone}>
          {(control) => <input {...control} {...text('time_zone')} list="time-zones" placeholder="UTC" />}
        </FormField>
      </div>
      <TimeZones />
      <SchedulePreview cron={draft.cron} timeZone={draft.time_zone} />
      <div className="form-row">
        <Choice
          label="If a run is open"
          value={draft.overlap}
          options={OVERLAP_LABEL}
          faults={faults.overlap}
          onChange={(overlap) => set({ overlap })}
        />
        <Choice
          label="Missed occurrences"
          value={draft.catch_up}
          options={CATCH_UP_LABEL}
          faults={faults.catch_up}
          onChange={(catch_up) => set({ catch_up })}
        />
        <FormField label="Scheduled runs left" faults={faults.recurrence} hint="Empty: unlimited.">
          {(control) => <input {...control} {...text('recurrence')} inputMode="numeric" />}
        </FormField>
      </div>
      <div>
        <p className="form-label">Workflow that it starts</p>
        <p className="form-hint">JSON, as for POST /v1/workflows. Nodes have names instead of UUIDs.</p>
        <JsonEditor
          label="Workflow that it starts"
          text={draft.workflow}
          onChange={(workflow) => set({ workflow })}
          schema={schema}
          error={error}
          root="workflow"
        />
        {faults.workflow !== undefined && <Faults role="alert" faults={faults.workflow} />}
      </div>
      {isNew && (
        <label className="form-check">
          <input type="checkbox" checked={draft.paused} onChange={(event) => set({ paused: event.target.checked })} />
          Create it paused
        </label>
      )}
    </>
  );
}

interface ChoiceProps<Name extends string> {
  label: string;
  value: Name;
  options: Readonly<Record<Name, string>>;
  faults: readonly string[] | undefined;
  onChange: (value: Name) => void;
}

function Choice<Name extends string>({ label, value, options, faults, onChange }: ChoiceProps<Name>) {
  return (
    <FormField label={label} faults={faults}>
      {(control) => (
        <select {...control} className="input" value={value} onChange={(event) => onChange(event.target.value as Name)}>
          {(Object.keys(options) as Name[]).map((name) => (
            <option key={name} value={name}>
              {options[name]}
            </option>
          ))}
        </select>
      )}
    </FormField>
  );
}

/** The time zones that this browser knows, for completion. */
function TimeZones() {
  return (
    <datalist id="time-zones">
      {['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => (
        <option key={zone} value={zone} />
      ))}
    </datalist>
  );
}
