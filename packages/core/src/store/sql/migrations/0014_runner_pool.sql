-- Of a hold that waits again since it lost runners: how many it still has, and keeps.
alter table runner_request add column kept integer not null default 0;
alter table runner_request add check (kept >= 0 and kept < count and (kept = 0 or (state = 0 and source = 1)));

-- How many requests were granted runners so far.
create sequence runner_grant_count;

-- Of a request that waits for room in a full pool: from that many grants on it may not be overtaken any more, for as long as
-- a server looks after it.
alter table runner_request add column room_from bigint;
alter table runner_request add column room_until timestamptz;
create index runner_request_room on runner_request (rank, id) where state = 0 and room_until is not null;

-- Whether the end of a runner was counted. What ended before is none of it.
alter table runner add column counted boolean not null default true;
alter table runner alter column counted set default false;
create index runner_uncounted on runner (state_since) where state = 4 and not counted;

-- The policy of each class, in place of one for the whole pool: milliseconds by name, and max_uses.
alter table runner_class add column times jsonb check (jsonb_typeof(times) = 'object');
update runner_class set times = coalesce((select p.times from runner_policy p), '{}');
alter table runner_class alter column times set not null;
drop table runner_policy;
