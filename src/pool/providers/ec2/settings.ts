/** How runners are launched on EC2. */
export interface Ec2Settings {
  readonly region: string;
  /** Null: AWS itself. */
  readonly endpoint: string | null;
  /** Names this pool among others of the account: everything that it launches is tagged with it. */
  readonly pool: string;
  /** A launch template that exists; null: one is made from `parameters`, and kept up to date by `refresh`. */
  readonly template: Ec2Template | null;
  readonly parameters: Ec2Parameters | null;
  /** Where runners may be launched; empty: what the template says. */
  readonly subnet_ids: readonly string[];
  /**
   * Instance types of each class, the first choice first. Where none is named for a class, EC2 chooses by processors and
   * memory.
   */
  readonly instance_types: Readonly<Record<string, readonly string[]>>;
}

export interface Ec2Template {
  /** `lt-…`, or a name. */
  readonly id: string;
  /** A number, `$Latest` or `$Default`. */
  readonly version: string;
}

export interface Ec2Parameters {
  readonly image_id: string;
  readonly security_group_ids: readonly string[];
  /** Name or ARN of an instance profile; null: none. */
  readonly instance_profile: string | null;
  readonly key_name: string | null;
  /** What the instance runs when it starts, as text. */
  readonly user_data: string;
}
