-- Who did what. `entry` is the text that `hash` covers, together with its number and the hash before it; the other columns
-- are derived from it, so that they cannot tell anything else.
create table audit_entry (
  seq bigint primary key,
  entry text not null,
  hash bytea not null,
  at_ms bigint not null generated always as (((entry::json) ->> 'at')::bigint) stored,
  actor text generated always as ((entry::json) ->> 'actor') stored,
  action text not null generated always as ((entry::json) ->> 'action') stored,
  object text generated always as ((entry::json) ->> 'object') stored
);
create index audit_entry_actor on audit_entry (actor, seq);
create index audit_entry_object on audit_entry (object, seq);
create index audit_entry_at on audit_entry (at_ms);
