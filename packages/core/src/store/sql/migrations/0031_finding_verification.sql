-- What its provider last said of a secret: verdict, reason, time, identity and permissions. Null until it is verified.
alter table recon.findings
  add column verification jsonb check (
    verification ->> 'verdict' in ('active', 'inactive', 'unknown') and octet_length(verification::text) <= 16384
  );

create index findings_verdict on recon.findings ((verification ->> 'verdict'), id) where verification is not null;
