import type { Finding } from '@heddle/client';
import { useState } from 'react';
import { triageFindings } from '../api/findings.ts';
import type { TriageState } from '../api/findings.ts';
import { refreshAll } from '../data/query-client.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { FormField } from '../ui/form-field.tsx';
import { ProblemBox } from '../ui/problem.tsx';
import { notify } from '../ui/toast.tsx';
import { TRIAGE_LABEL, TRIAGE_VERB } from './finding-state.tsx';

const STATES = Object.keys(TRIAGE_VERB) as TriageState[];

/** What can be done with the selected findings. */
export function TriageBar({ findings, onDone }: { findings: readonly Finding[]; onDone: () => void }) {
  return (
    <div className="selection-bar" role="group" aria-label="Selected findings">
      <strong>{findings.length.toLocaleString()} selected</strong>
      <TriageButtons findings={findings} onDone={onDone} />
      <Button look="plain" onClick={onDone}>
        Clear selection
      </Button>
    </div>
  );
}

/** One button for each triage state that some of the findings do not have. */
export function TriageButtons({ findings, onDone }: { findings: readonly Finding[]; onDone?: () => void }) {
  const [wanted, setWanted] = useState<TriageState | null>(null);
  const offered = STATES.filter((state) => findings.some(({ triage }) => triage.state !== state));
  return (
    <>
      {offered.map((state) => (
        <Button key={state} onClick={() => setWanted(state)}>
          {TRIAGE_VERB[state]}
        </Button>
      ))}
      <Dialog
        open={wanted !== null}
        onOpenChange={(open) => {
          if (!open) setWanted(null);
        }}
        title={wanted === null ? '' : titleOf(wanted, findings)}
      >
        {wanted !== null && (
          <TriageForm
            findings={findings}
            wanted={wanted}
            onCancel={() => setWanted(null)}
            onDone={() => {
              setWanted(null);
              onDone?.();
            }}
          />
        )}
      </Dialog>
    </>
  );
}

function objectOf(findings: readonly Finding[]): string {
  return findings.length === 1 ? `this finding of ${findings[0]!.rule_id}` : `${findings.length} findings`;
}

function titleOf(wanted: TriageState, findings: readonly Finding[]): string {
  if (wanted === 'false_positive') return `Mark ${objectOf(findings)} as false positive?`;
  return `${TRIAGE_VERB[wanted]} ${objectOf(findings)}?`;
}

interface TriageFormProps {
  findings: readonly Finding[];
  wanted: TriageState;
  onCancel: () => void;
  onDone: () => void;
}

function TriageForm({ findings, wanted, onCancel, onDone }: TriageFormProps) {
  const [comment, setComment] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const change = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const ids = findings.map(({ id }) => id);
      const { changed, unchanged } = await triageFindings(ids, wanted, comment.trim());
      const label = TRIAGE_LABEL[wanted].toLowerCase();
      notify(
        `${changed.length.toLocaleString()} ${changed.length === 1 ? 'finding is' : 'findings are'} now ${label}`,
        reasonsOf(unchanged),
      );
      onDone();
      await refreshAll();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void change();
      }}
    >
      <p className="dialog-body">
        {wanted === 'open'
          ? 'Open findings need attention.'
          : `Later scans still find ${findings.length === 1 ? 'it' : 'them'}, and keep this status.`}{' '}
        The comment replaces the previous one.
      </p>
      <FormField label="Comment" hint="For other users; optional.">
        {(control) => (
          <input
            {...control}
            className="input"
            value={comment}
            maxLength={1000}
            autoComplete="off"
            onChange={(event) => setComment(event.target.value)}
          />
        )}
      </FormField>
      {error !== null && <ProblemBox error={error} />}
      <div className="dialog-actions">
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" look="primary" disabled={isBusy}>
          {TRIAGE_VERB[wanted]}
        </Button>
      </div>
    </form>
  );
}

function reasonsOf(unchanged: readonly { reason: string }[]): string | undefined {
  if (unchanged.length === 0) return undefined;
  const reasons = [...new Set(unchanged.map(({ reason }) => reason))].join('; ');
  return `${unchanged.length.toLocaleString()} unchanged: ${reasons}`;
}
