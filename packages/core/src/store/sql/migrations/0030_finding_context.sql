-- The lines around a secret, masked, and what all findings of one secret have in common: a hash.
alter table recon.findings
  add column context jsonb not null default '[]' check (octet_length(context::text) <= 16384),
  add column secret_id bytea check (octet_length(secret_id) = 16);

create index findings_secret on recon.findings (secret_id, id) where secret_id is not null;
