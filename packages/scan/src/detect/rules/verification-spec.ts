/** How a rule asks the provider of a secret whether it is active. Plain data, read from rule files. */
export type VerificationSpec = HttpVerification | JwtVerification;

/** One request, and what its answers mean. */
export interface HttpVerification {
  type: 'http';
  /** By which rules and `--verify-endpoint` refer to it; the id of the rule if it belongs to one alone. */
  name: string;
  /** As sentences name it: `GitHub`. */
  provider: string;
  method: 'GET' | 'HEAD' | 'POST';
  /**
   * These and the other templates have `{{secret}}` and `{{name}}` of companions as placeholders. Without scheme and host
   * if there is no address to assume: only `--verify-endpoint` says where to ask.
   */
  url: string;
  headers: Readonly<Record<string, string>>;
  /** User and password of Basic authentication, with a colon between them. */
  basic?: string;
  form?: Readonly<Record<string, string>>;
  /** The body as JSON text; placeholders are inside strings. */
  json?: string;
  sign?: AwsSignature;
  companions: readonly Companion[];
  active: readonly AnswerCondition[];
  inactive: readonly AnswerCondition[];
  /** The same at an address of `--verify-endpoint`, which is the right one. */
  endpoint_inactive?: readonly AnswerCondition[];
  /** JSON pointers or `header:name`; the first that the answer has counts. */
  identity: readonly string[];
  /** The same; all of them count. */
  permissions: readonly string[];
}

/** A token that states when it expires: no provider is asked. */
export interface JwtVerification {
  type: 'jwt';
  name: string;
  provider: string;
  companions: readonly Companion[];
}

/** AWS Signature Version 4; id, key and session are templates. */
export interface AwsSignature {
  service: string;
  region: string;
  id: string;
  key: string;
  /** Empty for long-term keys. */
  session: string;
}

/** A value that a request needs besides the secret. */
export interface Companion {
  name: string;
  /** Its first group, or the whole match, is the value. */
  regex: string;
  /** Where it is searched: around the match, nearest first, in the match, or in the secret. */
  of: 'nearby' | 'match' | 'secret';
  /** Empty if there is none; a request without another companion is not sent. */
  optional: boolean;
}

/** What an answer must have; all members that are present must hold. */
export interface AnswerCondition {
  status?: readonly number[];
  /** JSON pointer into the body. */
  pointer?: string;
  /** Values of which the pointer must hold one. */
  equals?: readonly (string | number | boolean)[];
  /** Whether the pointer must lead to a value. */
  exists?: boolean;
  /** Texts of which the body must contain one. */
  text?: readonly string[];
}
