import { useId } from 'react';
import type { ReactNode } from 'react';
import { FormField } from './form-field.tsx';
import './form.css';

interface FieldProps {
  label: string;
  /** What belongs here. */
  hint?: ReactNode;
  /** What the server said about it. */
  fault?: string | undefined;
}

interface TextFieldProps extends FieldProps {
  value: string;
  onChange: (value: string) => void;
  type?: 'text' | 'number' | 'password';
  placeholder?: string;
  required?: boolean;
  /** Values to choose from; others are possible. */
  suggestions?: readonly string[];
}

/** A labelled text, with what is wrong with it below. */
export function TextField({ label, hint, fault, value, onChange, suggestions, ...input }: TextFieldProps) {
  const list = useId();
  return (
    <FormField {...{ label, hint }} faults={faultsOfField(fault)}>
      {(control) => (
        <>
          <input
            {...control}
            className="input"
            autoComplete="off"
            spellCheck={false}
            value={value}
            list={suggestions === undefined ? undefined : list}
            onChange={(event) => onChange(event.target.value)}
            {...input}
          />
          {suggestions !== undefined && (
            <datalist id={list}>
              {suggestions.map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
          )}
        </>
      )}
    </FormField>
  );
}

function faultsOfField(fault: string | undefined): readonly string[] {
  return fault === undefined ? [] : [fault];
}

interface SelectFieldProps extends FieldProps {
  value: string;
  onChange: (value: string) => void;
  /** From value to label. */
  options: Readonly<Record<string, string>>;
}

export function SelectField({ label, hint, fault, value, onChange, options }: SelectFieldProps) {
  return (
    <FormField {...{ label, hint }} faults={faultsOfField(fault)}>
      {(control) => (
        <select {...control} className="input" value={value} onChange={(event) => onChange(event.target.value)}>
          {Object.entries(options).map(([each, text]) => (
            <option key={each} value={each}>
              {text}
            </option>
          ))}
        </select>
      )}
    </FormField>
  );
}

interface CheckFieldProps {
  label: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}

export function CheckField({ label, checked, onChange, disabled }: CheckFieldProps) {
  return (
    <label className="check-field">
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span>{label}</span>
    </label>
  );
}

/** Fields in columns, as many as there is room for. */
export function FormGrid({ children }: { children: ReactNode }) {
  return <div className="form-grid">{children}</div>;
}
