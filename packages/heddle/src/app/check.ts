/** Result of one check. */
export interface Check {
  name: string;
  status: 'ok' | 'warn' | 'fail';
  message: string;
  /** Remedy; null if there is nothing to do. */
  remedy: string | null;
}

export const ok = (name: string, message: string): Check => ({ name, status: 'ok', message, remedy: null });
export const warn = (name: string, message: string, remedy: string): Check => ({
  name,
  status: 'warn',
  message,
  remedy,
});
export const fail = (name: string, message: string, remedy: string): Check => ({
  name,
  status: 'fail',
  message,
  remedy,
});
