import { useId, useRef } from 'react';
import type { ReactNode } from 'react';

interface ConfirmButtonProps {
  label: string;
  title: string;
  /** Label of the button that confirms. */
  verb: string;
  /** Label of the button that cancels; it has the initial focus. */
  refusal: string;
  danger?: boolean;
  disabled: boolean;
  onConfirm: () => void;
  children: ReactNode;
}

/** A button that asks for confirmation. */
export function ConfirmButton(props: ConfirmButtonProps) {
  const { label, title, verb, refusal, danger = false, disabled, onConfirm, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  return (
    <>
      <button
        type="button"
        className={danger ? 'danger' : ''}
        disabled={disabled}
        onClick={() => dialog.current?.showModal()}
      >
        {label}
      </button>
      <dialog
        ref={dialog}
        aria-labelledby={titleId}
        onClose={(event) => {
          if (event.currentTarget.returnValue === 'do') onConfirm();
          event.currentTarget.returnValue = '';
        }}
      >
        <form method="dialog">
          <h2 id={titleId}>{title}</h2>
          {children}
          <div className="actions">
            <button type="submit" value="keep" autoFocus>
              {refusal}
            </button>
            <button type="submit" value="do" className={danger ? 'danger' : 'primary'}>
              {verb}
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
