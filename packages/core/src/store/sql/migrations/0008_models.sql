-- What recon and users' own tasks know of the world, over all runs: hosts, services, names, certificates.

create table recon.model_target (
  id integer generated always as identity primary key,
  name text not null unique check (char_length(name) between 1 and 200),
  -- Number of the latest run.
  runs integer not null default 0 check (runs >= 0)
);

create table recon.model_run (
  -- The task that merges what was seen.
  id uuid primary key,
  target_id integer not null references recon.model_target (id) on delete cascade,
  number integer not null check (number > 0),
  started_at timestamptz not null,
  ended_at timestamptz,
  complete boolean not null default false,
  new_models integer not null default 0,
  changed_models integer not null default 0,
  known_models integer not null default 0,
  gone_models integer not null default 0,
  by_model jsonb not null default '[]',
  unique (target_id, number)
);

create index model_run_started on recon.model_run (started_at);

-- The latest run that looked at everything of a model: what it has not seen is gone.
create table recon.model_cover (
  target_id integer not null references recon.model_target (id) on delete cascade,
  model text not null,
  number integer not null check (number > 0),
  started_at timestamptz not null,
  primary key (target_id, model)
);

create table recon.models (
  id uuid primary key,
  target_id integer not null references recon.model_target (id) on delete cascade,
  model text not null check (char_length(model) between 1 and 100),
  key text collate "C" not null check (char_length(key) between 1 and 500),
  data jsonb not null check (jsonb_typeof(data) = 'object'),
  state text not null check (state in ('new', 'changed', 'known', 'gone')),
  -- Numbers of the first run that saw it, of the latest one, of the latest one that it was new, changed or gone in.
  first_run integer not null,
  last_run integer not null check (last_run >= first_run),
  changed_run integer not null check (changed_run >= first_run),
  gone_run integer,
  runs integer not null check (runs > 0),
  first_seen timestamptz not null,
  last_seen timestamptz not null,
  changed_at timestamptz not null,
  gone_at timestamptz,
  -- Its data before changed_run; null where it was new then, or is gone.
  previous jsonb,
  -- What changed_run found here, should more of what it saw show that nothing has changed.
  held jsonb,
  unique (target_id, model, key),
  constraint gone_is_sound check ((state = 'gone') = (gone_at is not null) and (gone_at is null) = (gone_run is null)
    and (gone_run is null or gone_run > last_run))
) with (fillfactor = 85);

-- What a run changes in every row that it sees again is in none of these.
create index models_target on recon.models (target_id, id);
create index models_model on recon.models (model, id);
create index models_state on recon.models (state, id);
create index models_changed on recon.models (target_id, changed_run, id);
create index models_changed_at on recon.models (changed_at);
create index models_gone on recon.models (gone_at) where gone_at is not null;

comment on column recon.scan_chunk.findings is 'What waits to be merged: findings of ObjectScan, records of recon';
