/** Settings for launching runners on EC2. */
export interface Ec2Settings {
  readonly region: string;
  /** Null: AWS itself. */
  readonly endpoint: string | null;
  /** Name of this pool, unique in the account; every instance is tagged with it. */
  readonly pool: string;
  /** An existing launch template; null: one is created from `parameters` and updated by `refresh`. */
  readonly template: Ec2Template | null;
  readonly parameters: Ec2Parameters | null;
  /** Subnets to launch runners in; empty: the subnet of the template. */
  readonly subnet_ids: readonly string[];
  /**
   * Instance types by class, in order of preference. For a class without types, EC2 chooses by processors and memory.
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
  /** Script that the instance runs when it starts, as plain text. */
  readonly user_data: string;
}
