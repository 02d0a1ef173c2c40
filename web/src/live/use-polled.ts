import { useCallback, useEffect, useState } from 'react';
import { ApiError } from '../api/client.ts';

const REFRESH_MS = 3000;

export interface Polled<Value> {
  value: Value | null;
  error: unknown;
  /** Time of the last response. */
  heardAtMs: number | null;
  /** Polls now, after a change. */
  reread: () => void;
}

/** Polls every few seconds while the tab is visible. A different `read` starts over. */
export function usePolled<Value>(
  read: (signal: AbortSignal) => Promise<Value>,
  intervalMs = REFRESH_MS,
): Polled<Value> {
  const [state, setState] = useState<Omit<Polled<Value>, 'reread'>>({ value: null, error: null, heardAtMs: null });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stopped = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const readOnce = async (): Promise<void> => {
      try {
        const value = await read(stopped.signal);
        setState({ value, error: null, heardAtMs: Date.now() });
      } catch (error) {
        if (stopped.signal.aborted) return;
        setState((last) => ({ ...last, error }));
        if (error instanceof ApiError && !error.transient) return;
      }
      if (!stopped.signal.aborted) timer = setTimeout(() => void again(), intervalMs);
    };
    const again = async (): Promise<void> => {
      if (document.visibilityState === 'visible') return readOnce();
      document.addEventListener('visibilitychange', () => void again(), { once: true, signal: stopped.signal });
    };
    void readOnce();
    return () => {
      stopped.abort();
      clearTimeout(timer);
    };
  }, [read, turn, intervalMs]);
  const reread = useCallback(() => setTurn((last) => last + 1), []);
  return { ...state, reread };
}
