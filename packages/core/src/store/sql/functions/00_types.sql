-- Sets that functions hand on as one value. Their arrays have one entry per task, in one order.
drop type if exists reports, settling, ending;

-- Reports on attempts, of distinct tasks; a null attempt means the current one. `reasons`: null if none has one.
-- `extras`: [{i: id, m: metadata patch, s: new successes, f: new failures, x: nodes that a generator announced, z: true if
-- the failure is permanent, k: [nodes after the task in its sequence that its success disables]}], applied to what is
-- accepted. `workflows`: where the caller knows them, the workflows with dependencies that the tasks belong to; null:
-- they are looked up.
create type reports as (ids uuid[], attempts integer[], states smallint[], reasons text[], extras jsonb, workflows uuid[]);

-- Accepted reports, whose tasks are locked, and what settle will answer. `containers`: null if none is in a tree.
-- `linked` to `holds`: whether any of them has dependencies, a spec, actions, slots. `final`: permanent failures, which
-- are not retried. `codes` and `states`: an entry for each report, or null where all are applied as asked.
create type settling as (ids uuid[], workflows uuid[], leases bigint[], targets smallint[], reasons text[],
  containers uuid[], linked boolean, has_spec boolean, has_actions boolean, holds boolean, final uuid[],
  codes smallint[], states smallint[], moved json, lanes integer[]);

-- Tasks that have just ended, and what they leave. `containers`: null if none is in a tree. `slots` and `amounts`: what
-- they held. `linked` and `has_actions`: whether any of them has dependencies or actions, so that sets without them pay
-- nothing for either. `succeeded`: whether all did.
create type ending as (ids uuid[], workflows uuid[], containers uuid[], leases bigint[], slots bigint[], amounts bigint[],
  linked boolean, has_actions boolean, succeeded boolean);
