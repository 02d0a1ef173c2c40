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
        <Faults id={describedBy} role="alert" faults={faults} />
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

interface FaultsProps {
  id?: string | undefined;
  /** `alert`: after someone has sent the form; `status`: while they type. */
  role: 'alert' | 'status';
  faults: readonly string[];
}

/** What is wrong, one line each. */
export function Faults({ id, role, faults }: FaultsProps) {
  return (
    <div id={id} role={role} className="form-faults">
      <ul>
        {faults.map((fault) => (
          <li key={fault}>{fault}</li>
        ))}
      </ul>
    </div>
  );
}
