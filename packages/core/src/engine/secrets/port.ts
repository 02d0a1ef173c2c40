/** A secret as it is listed. */
export interface ListedSecret {
  name: string;
  grants: readonly string[];
  /** Whether this process has its key. */
  readable: boolean;
  created_at: number;
  updated_at: number;
}

/** Who uses a secret: a task of a kind, or a webhook that is sent to an origin. */
export interface SecretUse {
  grantee: string;
  task_id: string;
  /** Absent for webhooks. */
  attempt?: number;
  /** The worker that the values are sent to, for the audit log. */
  worker?: { name: string; address: string };
  /**
   * Whether the receiver of the values reports on the task without a process of Heddle that redacts; its reports are then
   * redacted when they arrive.
   */
  isSent?: boolean;
}

/** Secrets that tasks and webhooks name. Their values are returned to those that use them, never listed. */
export interface NamedSecrets {
  /**
   * @param grants kinds, and origins of webhooks; null keeps those that it has
   * @throws HeddleError CONFLICT if there is no key, VALIDATION_FAILED if it has no grants
   */
  set(name: string, value: string, grants: readonly string[] | null): Promise<ListedSecret>;
  list(): Promise<ListedSecret[]>;
  remove(name: string): Promise<boolean>;
  /** Seals all with the first key; returns how many were sealed with another. */
  rotate(): Promise<number>;
  /**
   * Returns values by name. Records every use, and every refusal.
   * @throws SecretRefusedError; Error if this process has no key for one of them
   */
  use(names: readonly string[], use: SecretUse): Promise<ReadonlyMap<string, string>>;
  /** Deletes former values that no task was sent. */
  retain(limit: number): Promise<void>;
}
