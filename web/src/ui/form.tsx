import { useId } from 'react';
import type { ReactNode } from 'react';
import './form.css';

interface FormFieldProps {
  label: string;
  /** What belongs here. */
  hint?: ReactNode;
  /** What the server said about it. */
  fault?: string | undefined;
}

interface TextFieldProps extends FormFieldProps {
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
  const id = useId();
  return (
    <FormRow id={id} {...{ label, hint, fault }}>
      <input
        id={id}
        className="input"
        autoComplete="off"
        spellCheck={false}
        value={value}
        aria-invalid={fault === undefined ? undefined : true}
        aria-describedby={`${id}-hint`}
        list={suggestions === undefined ? undefined : `${id}-list`}
        onChange={(event) => onChange(event.target.value)}
        {...input}
      />
      {suggestions !== undefined && (
        <datalist id={`${id}-list`}>
          {suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </FormRow>
  );
}

interface SelectFieldProps extends FormFieldProps {
  value: string;
  onChange: (value: string) => void;
  /** From value to label. */
  options: Readonly<Record<string, string>>;
}

export function SelectField({ label, hint, fault, value, onChange, options }: SelectFieldProps) {
  const id = useId();
  return (
    <FormRow id={id} {...{ label, hint, fault }}>
      <select
        id={id}
        className="input"
        value={value}
        aria-describedby={`${id}-hint`}
        onChange={(event) => onChange(event.target.value)}
      >
        {Object.entries(options).map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </FormRow>
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

function FormRow({ id, label, hint, fault, children }: FormFieldProps & { id: string; children: ReactNode }) {
  return (
    <div className="form-field">
      <label htmlFor={id}>{label}</label>
      {children}
      <p id={`${id}-hint`} className={fault === undefined ? 'quiet' : 'form-fault'}>
        {fault ?? hint}
      </p>
    </div>
  );
}
