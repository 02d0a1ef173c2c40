import { useId } from 'react';
import type { ReactNode } from 'react';

interface ControlProps {
  id: string;
  'aria-invalid': boolean;
  'aria-describedby': string | undefined;
}

interface FormFieldProps {
  label: string;
  /** What to enter. */
  hint?: ReactNode;
  /** What is wrong with what was entered. */
  faults?: readonly string[] | undefined;
  /** Receives what ties the control to its label, its hint and its faults. */
  children: (control: ControlProps) => ReactNode;
}

/** One field of a form: its label, its control, and below it what is wrong or what to enter. */
export function FormField({ label, hint, faults = [], children }: FormFieldProps) {
  const id = useId();
  const isInvalid = faults.length > 0;
  const describedBy = isInvalid || hint !== undefined ? `${id}-note` : undefined;
  return (
    <div className="form-field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-invalid': isInvalid, 'aria-describedby': describedBy })}
      {isInvalid ? (
        <ul className="form-faults" id={describedBy} role="alert">
          {faults.map((fault) => (
            <li key={fault}>{fault}</li>
          ))}
        </ul>
      ) : (
        hint !== undefined && (
          <p className="form-hint" id={describedBy}>
            {hint}
          </p>
        )
      )}
    </div>
  );
}
