import { useState } from 'react';

export interface Operation {
  busy: boolean;
  /** What the last try failed of; null where it did not. */
  error: unknown;
  /** Does it, and calls `onDone` where it went well. */
  run: (operate: () => Promise<void>) => void;
}

/** Something that a press of a button does at the server, once at a time. */
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
