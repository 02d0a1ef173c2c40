-- What servers and workers tell of the kinds that they run.
create table kind_description (
  kind_id integer primary key,
  description text check (char_length(description) between 1 and 1000),
  -- JSON Schema of the input.
  input_schema jsonb check (octet_length(input_schema::text) <= 131072),
  updated_at timestamptz not null
);
