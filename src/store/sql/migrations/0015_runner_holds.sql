-- Of a hold that waits again since it lost runners: how many it still has, and keeps.
alter table runner_request add column kept integer not null default 0;
alter table runner_request add check (kept >= 0 and kept < count and (kept = 0 or (state = 0 and source = 1)));
