-- Sets that functions pass to each other as one value. Their arrays have one entry per task, in one order.
drop type if exists slot_demand, reports, report_parts, settling, settled, claim_terms, claimed, submission, new_workflows, new_edges,
  plain_tasks, ending, picked, locked, sequence_steps, new_nodes, new_requests, runner_market, runner_bars, ready_rows;

-- Reports on attempts, of distinct tasks; a null attempt means the current one. `reasons`: null if none has one.
-- `extras`: [{id, metadata_patch, new_success, new_failures, expected_created: nodes that a generator announced, final:
-- whether the failure is permanent, disable: [nodes after the task in its sequence that its success disables]}], applied
-- to what is accepted. `workflows`: where the caller knows them, the workflows with dependencies that the tasks belong to; null:
-- they are looked up. `redacted`: the tasks that secrets may have been sent for; null: any, since the reports are Heddle's own.
-- `pack`: the log pack of the set, or null; `logged`: the tasks that are in it, null: all.
create type reports as (ids uuid[], attempts integer[], states smallint[], reasons text[], extras jsonb, workflows uuid[],
  redacted uuid[], pack bigint, logged uuid[]);

-- Accepted reports, whose tasks are locked, and what settle will answer. `containers`: null if none is in a tree.
-- `linked` to `holds`: whether any of them has dependencies, a spec, actions, slots. `held`: the slots that each of them
-- holds, if they are the same. `final`: permanent failures, which
-- are not retried. `codes` and `states`: an entry for each report, or null where all are applied as asked. `unredacted`: whether none is
-- accepted, since secrets were sent for a task that is not in `redacted`. `pack` and `logged`: as in reports.
create type settling as (ids uuid[], workflows uuid[], leases bigint[], targets smallint[], reasons text[],
  containers uuid[], linked boolean, has_spec boolean, has_actions boolean, holds boolean, held bigint[], final uuid[],
  codes smallint[], states smallint[], transitions json, lanes integer[], unredacted boolean, pack bigint, logged uuid[]);

-- What comes with reports, each null for none: results and notices as in store_results and write_task_notices; a pack of the
-- logs of the tasks in `logged` of the reports, and the number of lines of each.
create type report_parts as (results jsonb, notices jsonb, log bytea, lines integer[]);

-- A claim by who runs the tasks: its parameters as in claim. The lanes are null if no claim rides along.
create type claim_terms as (lanes integer[], max_tasks integer, holder text, claim_timeout_ms integer, lease_ms integer);

-- What a claim took: its tasks as an array of what claimed_task returns, in the order of the claim, and how many ready tasks
-- rules blocked; each null for none. One value, since reading a row for each task costs the
-- client more than the database saves by it.
create type claimed as (tasks json, refused integer);

-- Columns of workflows, edges and plain tasks to insert. An array that is null has only defaults. `lanes`: where those of
-- the tasks that have no dependencies become ready.
create type new_workflows as (ids uuid[], names text[], linked boolean[], task_counts integer[], remaining integer[],
  failed_tasks uuid[], kinds text[], traceparents text[]);
create type new_edges as (parents uuid[], children uuid[], requires_success boolean[], crosses boolean[], relayed boolean[]);
create type plain_tasks as (ids uuid[], workflow_ids uuid[], kind_ids integer[], open_gates integer[], linked boolean[],
  names text[], local_ids text[], metadata jsonb[], lanes integer[], priority smallint[], timeout_secs integer[],
  deadline_basis smallint[], expected_count bigint[], rule_sets integer[]);

-- Rows of submissions. workflows: `remaining` are those of their tasks that have not ended yet, `failed_tasks` the first
-- of those that have, `kinds` the texts of arrays. Either `plain`, or `tasks` and `specs` as in store_tasks. `edges`,
-- `crosses` and `relayed`: null if there are none. kinds: those of the tasks. audit: entries of the audit log, or null.
create type submission as (workflows new_workflows, edges new_edges, plain plain_tasks, tasks json, specs json,
  kinds integer[], audit text[]);

-- The answer of a settle; the task that it started, or null; whether a claim along with it may find tasks.
create type settled as (moved json, started uuid, may_claim boolean);

-- Tasks that have just ended, and what they leave. `states`: null if all succeeded. `containers`: null if none is in a
-- tree. `slots` and `amounts`: what they held. `linked` and `has_actions`: whether any of them has dependencies or
-- actions, so that sets without them pay nothing for either.
create type ending as (ids uuid[], workflows uuid[], states smallint[], containers uuid[], leases bigint[],
  slots bigint[], amounts bigint[], linked boolean, has_actions boolean);

-- Ready rows that a claim has locked: their tasks, their places, their lanes, and the slots that each was handed, as the
-- text of an array.
create type picked as (ids uuid[], tids tid[], lanes integer[], grants text[]);

-- Picked tasks that a claim has locked. `kinds` and `latest`: those of the pending ones; null if none is pending. `ruled`: whether
-- any has rules of its own. `wants` to `slot_version`: what rules say about each of them, if all are pending and alike;
-- otherwise `slot_version` is null.
create type locked as (ids uuid[], kinds integer[], ruled boolean, latest timestamptz, wants bigint[],
  rule_slots bigint[], rule_max bigint[], slot_version integer);

-- Tasks that become ready, and their places in the lanes.
create type ready_rows as (lanes integer[], ranks smallint[], ids uuid[]);

-- What some tasks request, by slot: how much they take; the lowest limit that rules of theirs set, or null; whether a rule
-- checks the slot for a task that takes none of it, or some of its capacity. `stale`: whether any of the tasks has slots that
-- were computed for an older version of its kind.
create type slot_demand as (slots bigint[], amounts bigint[], maxima bigint[], outside boolean[], stale boolean);

-- What a look at sequences found: their next tasks and containers; the sequences that a child stops, with the child's
-- position and id, and the reasons for what is disabled (`reasons`) and for the sequence (`stops`); and the parents of
-- those that ended, with their states and policies.
create type sequence_steps as (tasks uuid[], containers uuid[], stopped uuid[], positions integer[], causes uuid[],
  reasons text[], stops text[], stopped_parents uuid[], stopped_policies smallint[],
  over_parents uuid[], over_states smallint[], over_policies smallint[]);

-- New nodes of trees. containers: [columns of `container`]. tasks and specs: as in store_tasks. parents: containers that
-- were there and get children [{id, children, disabled: ones among them}]. counts: [{workflow_id, tasks, open: ones among
-- them, kinds}]. generators: as in count_created. open_generators: [[generator, container], ...]. touched and opened: as in
-- advance_containers. kinds: those of the tasks.
create type new_nodes as (containers json, tasks json, specs json, parents json, counts json, generators json,
  container_generators json, touched uuid[], opened uuid[], kinds integer[]);

-- Requests for runners, one entry each.
create type new_requests as (ids uuid[], shapes integer[], tenants text[], counts integer[], sources smallint[],
  runs text[], attempts integer[], expires timestamptz[]);

-- Requests, and the idle runners that fit them. Shapes and types are identified by their index. By request: shape, number
-- of runners, rank, whether it holds others back. Types of shape s: fits[fit_from[s] .. fit_to[s]]; `types`: their ids.
-- The supply[t] runners of type t start at starts[t] in `ids` and `since`, most recently used first.
create type runner_market as (shape_of integer[], counts integer[], ranks bigint[], holds_back boolean[], fits integer[],
  fit_from integer[], fit_to integer[], types integer[], ids uuid[], since timestamptz[], supply integer[],
  starts integer[]);

-- For each type the rank and id of the request behind which others may not have its runners; null if there is none.
create type runner_bars as (ranks bigint[], ids uuid[]);
