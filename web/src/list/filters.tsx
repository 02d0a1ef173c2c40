import { useCallback, useEffect, useState } from 'react';
import { usePolled } from '../live/use-polled.ts';

const TARGETS_MAX = 100;
const TARGETS_REFRESH_MS = 15_000;
/** Delay after which a typed filter is applied. */
const TYPING_MS = 300;

interface TypedFilterProps {
  label: string;
  placeholder: string;
  value: string;
  onValue: (value: string) => void;
}

/** A string filter, applied when typing pauses. */
export function TypedFilter({ label, placeholder, value, onValue }: TypedFilterProps) {
  const [text, setText] = useState(value);
  useEffect(() => {
    const typed = text.trim();
    if (typed === value) return undefined;
    const timer = setTimeout(() => onValue(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      aria-label={label}
      placeholder={placeholder}
      value={text}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => setText(event.target.value)}
    />
  );
}

interface TargetFilterProps {
  /** Must stay the same function. */
  list: (size: number, signal: AbortSignal) => Promise<readonly { target: string }[]>;
  value: string;
  onValue: (target: string) => void;
}

/** A filter by target. */
export function TargetFilter({ list, value, onValue }: TargetFilterProps) {
  const read = useCallback((signal: AbortSignal) => list(TARGETS_MAX, signal), [list]);
  const { value: targets } = usePolled(read, TARGETS_REFRESH_MS);
  const names = (targets ?? []).map(({ target }) => target);
  // A target from the URL is shown, even if it is not among the first.
  const shown = value === '' || names.includes(value) ? names : [value, ...names];
  return (
    <label>
      <span className="visually-hidden">Target</span>
      <select value={value} onChange={(event) => onValue(event.target.value)}>
        <option value="">All targets</option>
        {shown.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
