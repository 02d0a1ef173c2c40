import { useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';

/** The row of filters above a list. */
export function FilterBar({ children }: { children: ReactNode }) {
  return (
    <div className="filter-bar" role="search">
      {children}
    </div>
  );
}

const TYPING_PAUSE_MS = 250;

interface TextFilterProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
  /** The `/` key moves here. */
  main?: boolean;
}

/** A text filter; it takes effect when typing pauses. */
export function TextFilter({ label, value, onChange, placeholder, main = false }: TextFilterProps) {
  const [text, setText] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text.trim()), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      ref={input}
      type="search"
      className="input"
      aria-label={label}
      placeholder={placeholder ?? label}
      data-main-filter={main || undefined}
      value={text}
      onChange={(event) => setText(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') onChange(text.trim());
      }}
    />
  );
}

interface ChoiceFilterProps {
  label: string;
  value: string;
  /** From value to label; '' stands for any. */
  options: Readonly<Record<string, string>>;
  onChange: (value: string) => void;
}

/** A filter with fixed values. */
export function ChoiceFilter({ label, value, options, onChange }: ChoiceFilterProps) {
  return (
    <label className="choice">
      <span>{label}</span>
      <select className="input" value={value} onChange={(event) => onChange(event.target.value)}>
        {Object.entries(options).map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
