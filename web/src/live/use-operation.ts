import { useState } from 'react';

export interface Operation {
  busy: boolean;
  /** Error of the last try; null if it succeeded. */
  error: unknown;
  /** Runs it, and calls `onDone` on success. */
  run: (operate: () => Promise<void>) => void;
}

/** A server operation triggered by a button, one at a time. */
export function useOperation(onDone: () => void): Operation {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = async (operate: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await operate();
      onDone();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, run: (operate) => void run(operate) };
}
