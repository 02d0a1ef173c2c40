-- Logins of browsers: the SHA-256 of the value of their cookie, and the token or identity that opened them.
create table session (
  id uuid primary key,
  secret_hash bytea not null unique,
  token_id uuid references api_token on delete cascade,
  issuer text,
  subject text,
  name text,
  scopes text[],
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null,
  address text,
  browser text,
  check (num_nulls(issuer, subject, name, scopes) = case when token_id is null then 0 else 4 end)
);
create index session_token on session (token_id, last_used_at) where token_id is not null;
create index session_identity on session (issuer, subject, last_used_at) where token_id is null;
create index session_last_used on session (last_used_at);
create index session_expires on session (expires_at);
