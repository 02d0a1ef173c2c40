-- Secrets that scans found, over all runs. No secret stands here: a fingerprint tells one from another.

create table recon.scan_target (
  id integer generated always as identity primary key,
  name text not null unique check (char_length(name) between 1 and 200),
  -- Number of the latest run, and of the latest one that covered everything.
  runs integer not null default 0,
  covered_run integer not null default 0,
  check (covered_run between 0 and runs)
);

create table recon.scan_run (
  -- The task that merges its findings.
  id uuid primary key,
  target_id integer not null references recon.scan_target (id) on delete cascade,
  number integer not null check (number > 0),
  started_at timestamptz not null,
  ended_at timestamptz,
  complete boolean not null default false,
  new_findings integer not null default 0,
  known_findings integer not null default 0,
  gone_findings integer not null default 0,
  by_rule jsonb not null default '[]',
  unique (target_id, number)
);

create table recon.findings (
  id uuid primary key,
  target_id integer not null references recon.scan_target (id) on delete cascade,
  fingerprint bytea not null check (octet_length(fingerprint) = 16),
  rule_id text not null,
  description text not null,
  tags jsonb not null,
  path text not null,
  redacted text not null,
  -- Line, column, commit and so on, of the latest run that saw it.
  place jsonb not null,
  occurrences integer not null check (occurrences > 0),
  state text not null check (state in ('new', 'known', 'gone')),
  -- Numbers of the first run that saw it, of the latest one, and of the one since which it is gone.
  first_run integer not null,
  last_run integer not null check (last_run >= first_run),
  gone_run integer,
  runs integer not null check (runs > 0),
  first_seen timestamptz not null,
  last_seen timestamptz not null,
  gone_at timestamptz,
  triage text not null default 'open' check (triage in ('open', 'ignored', 'false_positive')),
  triaged_by text,
  triaged_at timestamptz,
  triage_comment text,
  unique (target_id, fingerprint),
  constraint gone_is_sound check ((state = 'gone') = (gone_at is not null) and (gone_at is null) = (gone_run is null)
    and (gone_run is null or gone_run > last_run))
) with (fillfactor = 85);

-- What a run changes in every row it sees again is in none of these, so that it costs no index anything.
create index findings_target on recon.findings (target_id, id);
create index findings_state on recon.findings (state, id);
create index findings_rule on recon.findings (rule_id, id);
create index findings_path on recon.findings (target_id, left(path, 200) collate "C");
create index findings_gone on recon.findings (gone_at) where gone_at is not null;

-- Findings of one scan that are too many for its result, until they are merged.
create table recon.scan_chunk (
  task_id uuid not null,
  attempt integer not null,
  ordinal integer not null,
  findings jsonb not null,
  created_at timestamptz not null,
  primary key (task_id, attempt, ordinal)
);

create index scan_chunk_created on recon.scan_chunk (created_at);
