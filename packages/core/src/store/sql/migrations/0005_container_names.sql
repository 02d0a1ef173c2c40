-- Generators name the containers that their nodes go into. One index for workflows and names: of two, the planner would
-- take either.
drop index container_workflow;
create index container_workflow on container (workflow_id, local_id);
