-- Who did what. `entry` is the JSON text that `hash` covers, together with its number and the hash before it.
create table audit_entry (
  seq bigint primary key,
  entry text not null,
  hash bytea not null
);
create index audit_entry_object on audit_entry (((entry::json) ->> 'object'), seq);
