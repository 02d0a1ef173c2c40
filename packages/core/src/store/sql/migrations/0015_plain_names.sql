-- Names that say what a reader expects of them.

alter table runner_pulse rename to runner_heartbeat;
alter table runner rename column doubted_at to suspected_at;

alter table container rename column fillers to open_generators;
alter table archive_container rename column fillers to open_generators;
alter table filler rename to container_generator;
alter table archive_filler rename to archive_container_generator;
alter index filler_container rename to container_generator_container;

alter table queue_dead rename column died_at to dead_lettered_at;
alter index queue_dead_died rename to queue_dead_lettered;

alter table runner_heartbeat rename constraint runner_pulse_pkey to runner_heartbeat_pkey;
alter table container rename constraint container_fillers_check to container_open_generators_check;
alter table container_generator rename constraint filler_pkey to container_generator_pkey;
alter table archive_container_generator rename constraint archive_filler_pkey to archive_container_generator_pkey;
