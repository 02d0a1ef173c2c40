-- Secrets that tasks name. `sealed` is their value, encrypted under the key `key_id`, which is not in the database; it also
-- covers `name` and `grants`, so that a value cannot be moved to another name or granted to others here.
create table named_secret (
  name text primary key,
  key_id text not null,
  sealed bytea not null,
  -- Kinds of tasks, and origins that webhooks may send it to.
  grants text[] not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
