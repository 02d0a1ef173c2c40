import { type Finding, verificationOf } from '@heddle/client';
import { useState } from 'react';
import { submitWorkflow } from '../api/operations.ts';
import { Button, LinkButton } from '../ui/button.tsx';
import { notifyError } from '../ui/toast.tsx';

/** Asks the provider of a finding's secret whether it is still active; then leads to the run that asks. */
export function VerifyButton({ finding }: { finding: Finding }) {
  const [isBusy, setBusy] = useState(false);
  const [run, setRun] = useState<string | null>(null);
  // What is gone or in a history has no place that can be read.
  if (finding.state === 'gone' || finding.commit !== null) return null;
  if (run !== null) return <LinkButton href={`/runs/${run}`}>Show verification</LinkButton>;
  const verify = async (): Promise<void> => {
    setBusy(true);
    try {
      setRun((await submitWorkflow(verificationOf([finding]))).id);
    } catch (error) {
      notifyError('The finding cannot be verified', error);
    }
    setBusy(false);
  };
  return (
    <Button
      disabled={isBusy}
      title="Reads the place again, and asks the provider whether the secret is active"
      onClick={() => void verify()}
    >
      {finding.verification === null ? 'Verify' : 'Verify again'}
    </Button>
  );
}
