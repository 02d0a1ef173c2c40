import { Absent } from '../ui/absent.tsx';
import type { Finding } from '@heddle/client';
import { useParams } from 'wouter';
import { Link } from 'wouter';
import { findings } from '../api/findings.ts';
import { queryOf } from '../data/filters.ts';
import { useLive } from '../data/live.ts';
import { useCan } from '../data/session.ts';
import { CopyButton } from '../ui/copy.tsx';
import { Field, Fields } from '../ui/fields.tsx';
import { Page, Section } from '../ui/page.tsx';
import { Trouble } from '../ui/problem.tsx';
import { Ago } from '../ui/time.tsx';
import { CodeContext } from './code-context.tsx';
import { FindingHistory } from './finding-history.tsx';
import { FindingBadge, CONFIDENCE_LABEL, STATE_MEANING, TriageBadge, VerdictBadge } from './finding-state.tsx';
import { adviceOf, NextSteps } from './next-steps.tsx';
import { OtherPlaces } from './other-places.tsx';
import { TriageButtons } from './triage.tsx';
import { VerifyButton } from './verify-button.tsx';

const LIST = { label: 'Findings', href: '/findings' };

/** One finding: where the secret is, what to do about it, and what was done. */
export function FindingPage() {
  const { id } = useParams<{ id: string }>();
  return <FindingView key={id} id={id} />;
}

function FindingView({ id }: { id: string }) {
  const can = useCan();
  const { data: finding, error, dataUpdatedAt } = useLive(['finding', id], (signal) => findings.get(id, signal));
  if (finding === undefined) {
    return (
      <Absent noun="finding" id={id} list={LIST} error={error} updatedAtMs={dataUpdatedAt}>
        Retention deletes findings some time after they are gone.
      </Absent>
    );
  }
  return (
    <Page
      title={finding.rule_id}
      crumbs={[LIST]}
      lead={adviceOf(finding.description).finds}
      actions={
        <>
          {can('submit') && <VerifyButton finding={finding} />}
          {can('operate') && <TriageButtons findings={[finding]} />}
        </>
      }
    >
      {error !== null && <Trouble error={error} updatedAtMs={dataUpdatedAt} />}
      <CodeContext finding={finding} />
      <NextSteps finding={finding} />
      <OtherPlaces finding={finding} />
      <div className="columns">
        <FindingHistory finding={finding} />
        <Facts finding={finding} />
      </div>
    </Page>
  );
}

function Verification({ finding: { verification } }: { finding: Finding }) {
  if (verification === null) return null;
  const { reason, checked_at, identity, permissions } = verification;
  return (
    <>
      <Field label="Verdict">
        <VerdictBadge verification={verification} />
        {`: ${reason}, `}
        <Ago at={checked_at} />
      </Field>
      {identity !== null && <Field label="Identity">{identity}</Field>}
      {permissions.length > 0 && <Field label="Permissions">{permissions.join(', ')}</Field>}
    </>
  );
}

function Facts({ finding }: { finding: Finding }) {
  const { state, triage, target, rule_id, occurrences, encodings, first_seen, tags, entropy, fingerprint } = finding;
  const { confidence, confidence_reason, key_path, key_name } = finding;
  return (
    <Section title="Details" testId="finding-details">
      <Fields>
        <Field label="State" title={STATE_MEANING[state]}>
          <FindingBadge state={state} />
        </Field>
        <Field label="Triage">
          <TriageBadge triage={triage} />
        </Field>
        <Field label="Confidence">
          {confidence_reason === null
            ? CONFIDENCE_LABEL[confidence]
            : `${CONFIDENCE_LABEL[confidence]}: ${confidence_reason}`}
        </Field>
        <Verification finding={finding} />
        {key_path !== null && (
          <Field label="Key">
            <code className="breakable">{key_path}</code>
            {key_name !== null && ` (${key_name})`}
          </Field>
        )}
        <Field label="First seen">
          <Ago at={first_seen} />
        </Field>
        <Field label="Target">
          <Link href={`/findings${queryOf({ target })}`}>{target}</Link>
        </Field>
        <Field label="Rule">
          <Link href={`/findings${queryOf({ rule: rule_id })}`}>{rule_id}</Link>
        </Field>
        <Field label="Occurrences">
          {occurrences === 1 ? 'once in this file' : `${occurrences.toLocaleString()} times in this file`}
        </Field>
        {encodings.length > 0 && <Field label="Encoded as">{encodings.join(', then ')}</Field>}
        {tags.length > 0 && <Field label="Tags">{tags.join(', ')}</Field>}
        <Field label="Entropy">{entropy.toFixed(1)} bits a character</Field>
        <Field label="Fingerprint">
          <span className="copy-text">
            <code className="breakable">{fingerprint}</code>
            <CopyButton text={fingerprint} />
          </span>
        </Field>
      </Fields>
    </Section>
  );
}
