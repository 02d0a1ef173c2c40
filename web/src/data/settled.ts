import { useEffect, useState } from 'react';

const TYPING_PAUSE_MS = 300;

/** Returns the value as it was when it last stayed the same for a moment: for what someone types. */
export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
