/** What is known of a secret: its provider accepts it, rejects it, or neither could be established. */
export const VERDICTS = ['active', 'inactive', 'unknown'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** The result of verifying a secret. Holds neither the secret nor the body of an answer. */
export interface Verification {
  verdict: Verdict;
  /** One sentence: `GitHub accepted it (HTTP 200)`. */
  reason: string;
  /** When it was established, RFC 3339. */
  checked_at: string;
  /** Whose secret it is, as the provider says: `octocat`. Null if it does not say. */
  identity: string | null;
  /** What it permits, as the provider says: `repo`, `gist`; at most 50. */
  permissions: readonly string[];
}
