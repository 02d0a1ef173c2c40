import { useState } from 'react';
import { triageFinding } from '../api/findings.ts';
import type { Finding } from '@heddle/client';
import type { TriageState } from '../api/findings.ts';
import { Field, FieldList, Moment } from '../list/fields.tsx';
import { Problem } from '../problem.tsx';
import { TRIAGE_LABEL } from './finding-state.tsx';

/** The details of one finding, and its triage. */
export function FindingDetails({ finding, now, onDone }: { finding: Finding; now: number; onDone: () => void }) {
  const { commit, encodings, triage } = finding;
  return (
    <div className="row-details" data-testid="finding-details">
      <FieldList>
        <Field name="Rule finds">{finding.description}</Field>
        <Field name="Place">
          <code className="breakable">
            {finding.path}:{finding.line}:{finding.column}
          </code>
        </Field>
        <Field name="Secret">
          <code>{finding.redacted}</code>
          {finding.occurrences > 1 && ` ${finding.occurrences.toLocaleString()} times`}
        </Field>
        {encodings.length > 0 && <Field name="Encoded as">{encodings.join(', then ')}</Field>}
        {commit !== null && (
          <Field name="Commit">
            <code className="breakable">{commit.id}</code> by {commit.author}, {commit.date}
          </Field>
        )}
        <Field name="First seen">
          <Moment at={finding.first_seen} now={now} />
        </Field>
        <Field name="Last seen">
          <Moment at={finding.last_seen} now={now} />, in {finding.runs.toLocaleString()}{' '}
          {finding.runs === 1 ? 'run' : 'runs'}
        </Field>
        {finding.gone_at !== null && (
          <Field name="Gone since">
            <Moment at={finding.gone_at} now={now} />
          </Field>
        )}
        <Field name="Fingerprint">
          <code>{finding.fingerprint}</code>
        </Field>
      </FieldList>
      <section>
        <h3>{TRIAGE_LABEL[triage.state]}</h3>
        {triage.at !== null && (
          <p className="quiet">
            {triage.by !== null && <>by {triage.by}, </>}
            <Moment at={triage.at} now={now} />
          </p>
        )}
        {triage.comment !== null && <p className="breakable">{triage.comment}</p>}
        <Triage finding={finding} onDone={onDone} />
      </section>
    </div>
  );
}

const VERBS: Record<TriageState, string> = {
  open: 'Reopen',
  ignored: 'Ignore',
  false_positive: 'False positive',
};

/** Sets the triage status with a comment; a rejection shows the server's message. */
function Triage({ finding, onDone }: { finding: Finding; onDone: () => void }) {
  const [comment, setComment] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const change = async (triage: TriageState): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await triageFinding(finding.id, triage, comment.trim());
      setComment('');
      onDone();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const others = (Object.keys(VERBS) as TriageState[]).filter((state) => state !== finding.triage.state);
  const commentId = `comment-${finding.id}`;
  return (
    <div className="finding-triage">
      <label htmlFor={commentId}>Comment</label>
      <input
        id={commentId}
        value={comment}
        maxLength={1000}
        placeholder="for other users"
        autoComplete="off"
        onChange={(event) => setComment(event.target.value)}
      />
      <div className="actions" role="group" aria-label="Operations on the finding">
        {others.map((state) => (
          <button key={state} type="button" disabled={busy} onClick={() => void change(state)}>
            {VERBS[state]}
          </button>
        ))}
      </div>
      {error !== null && <Problem error={error} />}
    </div>
  );
}
