import { Dialog as Base } from '@base-ui/react/dialog';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { ProblemBox } from './problem.tsx';
import { Button } from './button.tsx';

interface DialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: ReactNode;
  /** `wide`: for editors. */
  size?: 'normal' | 'wide';
  children: ReactNode;
}

/** A modal dialog: focus stays inside, Escape closes it. */
export function Dialog({ open, onOpenChange, title, size = 'normal', children }: DialogProps) {
  return (
    <Base.Root open={open} onOpenChange={onOpenChange}>
      <Base.Portal>
        <Base.Backdrop className="dialog-backdrop" />
        <Base.Popup className={`dialog dialog-${size}`}>
          <Base.Title className="dialog-title">{title}</Base.Title>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

interface ConfirmProps {
  /** Label of the button that opens the dialog. */
  label: ReactNode;
  /** A question that names the object. */
  title: string;
  /** Label of the button that confirms: the verb of `label`. */
  verb: string;
  look?: 'normal' | 'danger' | 'primary';
  disabled?: boolean;
  /** The dialog stays open until it is done, and shows why it failed. */
  onConfirm: () => Promise<unknown>;
  /** What will happen. */
  children: ReactNode;
}

/** A button that asks before it acts. */
export function ConfirmButton({ label, title, verb, look = 'normal', disabled, onConfirm, children }: ConfirmProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button look={look} disabled={disabled} onClick={() => setOpen(true)}>
        {label}
      </Button>
      <FormDialog open={open} onOpenChange={setOpen} {...{ title, verb, look, onConfirm }}>
        {children}
      </FormDialog>
    </>
  );
}

interface FormDialogProps
  extends Omit<ConfirmProps, 'label' | 'children'>, Pick<DialogProps, 'open' | 'onOpenChange' | 'size'> {
  /** What is filled in; given why the last try failed, if it says so itself. */
  children: ReactNode | ((error: unknown) => ReactNode);
}

/** A dialog with something to fill in or to confirm; it stays open until it is done, and shows why it failed. */
export function FormDialog(props: FormDialogProps) {
  const { open, onOpenChange, title, verb, look, size = 'normal', disabled = false, onConfirm, children } = props;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const change = (next: boolean): void => {
    setError(null);
    onOpenChange(next);
  };
  const confirm = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      onOpenChange(false);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog open={open} onOpenChange={change} title={title} size={size}>
      <div className="dialog-body">{typeof children === 'function' ? children(error) : children}</div>
      {error !== null && <ProblemBox error={error} />}
      <div className="dialog-actions">
        <Button onClick={() => change(false)}>Cancel</Button>
        <Button
          look={look === 'danger' ? 'danger' : 'primary'}
          disabled={busy || disabled}
          onClick={() => void confirm()}
        >
          {verb}
        </Button>
      </div>
    </Dialog>
  );
}
