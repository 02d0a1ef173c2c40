/** Entry of the audit log: who did what. */
export interface AuditRecord {
  /** Milliseconds since the epoch. */
  at: number;
  /** Name of the token; `cli:USER` for a command on the database, `task:ID` for a task; null: no token was required. */
  actor: string | null;
  /** Method and route of a call, such as `POST /v1/jobs`; else the command or use, such as `secret use`. */
  action: string;
  /** What it was done to: ids and names. */
  object: string | null;
  /** Status of the response; null if it was no call. */
  status: number | null;
  /** Network address of the caller. */
  address: string | null;
}

/** A stored record; its hash covers the hash before it. */
export interface AuditEntry extends AuditRecord {
  /** From 1, without gaps. */
  seq: number;
  /** 64 hexadecimal digits. */
  hash: string;
}
