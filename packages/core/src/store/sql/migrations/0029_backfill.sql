-- Runs of occurrences that passed, which an operator asked for.
alter table recon.job_history drop constraint job_history_trigger_check;
alter table recon.job_history add constraint job_history_trigger_check check (trigger in ('schedule', 'manual', 'backfill'));
