import { useCallback, useEffect, useState } from 'react';
import { usePolled } from '../live/use-polled.ts';

const TARGETS_MAX = 100;
const TARGETS_REFRESH_MS = 15_000;
/** A filter that is typed is asked for when nothing more is typed for so long. */
const TYPING_MS = 300;

interface TypedFilterProps {
  label: string;
  placeholder: string;
  value: string;
  onValue: (value: string) => void;
}

/** A text that filters once nothing more is typed. */
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

/** One of the targets that there are. */
export function TargetFilter({ list, value, onValue }: TargetFilterProps) {
  const read = useCallback((signal: AbortSignal) => list(TARGETS_MAX, signal), [list]);
  const { value: targets } = usePolled(read, TARGETS_REFRESH_MS);
  const names = (targets ?? []).map(({ target }) => target);
  // A target of an address that is followed is shown, whether or not it is among the first.
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
