import { Toast } from '@base-ui/react/toast';

const manager = Toast.createToastManager();

/** Reports that something was done, for a few seconds; also to screen readers. */
export function notify(title: string, description?: string): void {
  manager.add(description === undefined ? { title } : { title, description });
}

/** Reports that something failed, with the server's words. */
export function notifyError(title: string, error: unknown): void {
  const description = error instanceof Error ? error.message : String(error);
  manager.add({ title, description, type: 'error', timeout: 15_000, priority: 'high' });
}

/** Where notifications appear; once on the page. */
export function Toasts() {
  return (
    <Toast.Provider toastManager={manager}>
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function ToastList() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className={toast.type === 'error' ? 'toast toast-error' : 'toast'}>
      <Toast.Content>
        <Toast.Title className="toast-title" />
        <Toast.Description />
      </Toast.Content>
      <Toast.Close className="button button-plain" aria-label="Close">
        ✕
      </Toast.Close>
    </Toast.Root>
  ));
}
