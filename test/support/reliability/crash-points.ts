import { ATTEMPT_CRASH_CALLS } from './attempt-crash-points.ts';
import { MANAGER_CRASH_CALLS } from './manager-crash-points.ts';

/**
 * Where the scenario's process is killed: the calls of each statement, the first being 1. Each is a point before and one
 * after it, the first also one while it is under way; `commit` is the end of a transaction. A statement of the path without a row fails the test.
 */
export const CRASH_CALLS: Readonly<Record<string, readonly number[]>> = {
  // Submit: kinds and what rules count, then keys, dedupe, parents in other workflows, the rows.
  'kinds.add': [1],
  'kinds.find': [1],
  'kinds.register_shape': [1, 2],
  'kinds.register_dedupe_shape': [1],
  'kinds.rule_sets': [1],
  'idempotency.remember': [1, 2, 3],
  'workflows.find_duplicates': [1],
  'workflows.lock_parents': [1, 2],
  'workflows.read_parents': [2],
  'workflows.link_parents': [2],
  'workflows.submit_few': [1, 2, 3],
  'workflows.submit_and_claim': [1],
  'workflows.announce_ended': [1],
  'idempotency.answer': [1, 2, 3],
  // The ends of transactions: three submissions, three keyed counts.
  commit: [1, 2, 3, 4, 5, 6],
  'idempotency.take_set': [1, 2, 3],
  'idempotency.release_set': [1],
  // Claim.
  'claimers.seen': [1, 2],
  'tasks.claim_for_delivery': [1, 2, 3, 4],
  'tasks.claim': [1, 2],
  'tasks.settle_and_claim': [1],
  // Start deliveries and end deliveries.
  'deliveries.claim': [1, 2, 3, 4],
  'deliveries.renew': [1, 2],
  'deliveries.settle': [1, 2, 3, 4, 5],
  'deliveries.release_stuck': [1, 2],
  // Reports and everything that follows from them in the same statement.
  'tasks.add_progress': [1, 2, 3],
  'tasks.settle': [1, 2, 3, 4, 5, 6, 7, 8],
  'tasks.update': [1],
  'tasks.pause': [1],
  'tasks.resume': [1],
  'tasks.cancel': [1],
  // What only time sets in motion.
  'tasks.promote_delayed': [1, 2, 3],
  'tasks.sweep_leases': [1, 2],
  'slots.regrant': [1, 2],
  'tasks.relay_one': [1, 2],
  'signals.count_listeners': [1],
  'signals.notify': [1],
};

/** Statements that are not on the path: why a crash at them is no point of this test. */
export const NOT_ON_THE_PATH: Readonly<Record<string, RegExp>> = {
  'single reads, nothing to lose': new RegExp(
    `^(?:${[
      'ping|clock\\.now|kinds\\.(?:name|find_like|find_taken)|traces\\.[a-z_]+|explain\\..*|idempotency\\.recall(?:_set)?|schema_[a-z]+',
      'tasks\\.(?:get|get_states|list|list_of_workflow|changed_since|dependencies|count_.*|find_open|find_holders)',
      'workflows\\.(?:get|list|count_.*|sampled_share|find_traceparent)|deliveries\\.(?:list|count_by_state)',
    ].join('|')})$`,
  ),
  'single transactions of operators, who see no answer and ask again':
    /^(?:tasks\.(?:retry|retry_after|replace_inputs|unarchive|release_canceled)|deliveries\.replay)$/,
  'the same as those without traces, and a look at the traces': /^(?:tasks|workflows)\.[a-z_]+_traced$/,
  'the same as workflows.submit_few, for larger sets': /^workflows\.submit$/,
  'attempts that were never handed out, whose claim expires anyway': /^tasks\.put_back$/,
  'housekeeping, one statement a pass': /^(?:workflows\.(?:archive|delete_archived)|slots\.delete_idle|.*\.forget)$/,
  'killed with the manager, by a test of its own': new RegExp(
    `^(?:${Object.keys(MANAGER_CRASH_CALLS).join('|').replaceAll('.', '\\.')})$`,
  ),
  'within a transaction of the manager, which its commit decides':
    /^(?:inbox\.forget_dead_lettered|job_history\.(?:fail_lost|start_queued|skip_queued|trim)|trees\.adopt_nodes|jobs\.(?:lock|lock_many|pause_many))$/,
  'reads of trees, jobs and queues, nothing to lose': new RegExp(
    `^(?:${[
      'trees\\.(?:tasks|archived_tasks|child_ids|[a-z]+_by_id|[a-z]+_changed|all_containers|count_containers)',
      'trees\\.(?:results|read_created|find_retryable)|kinds\\.dispatched|flow\\.find_nodes_before',
      'tasks\\.result|generators\\.(?:expansion|dead_letters)',
      'jobs\\.(?:now|find|list|next_due|definitions)|job_history\\.(?:open|get|list|last|jobs_of_runs|next_queued|find_triggered)',
      'queues\\.(?:list_dead|depth|notify|count_listeners)|queue_outbox\\.next_due',
    ].join('|')})$`,
  ),
  'single statements of operators and senders, who see no answer and ask again':
    /^(?:jobs\.(?:insert|update|remove)|job_history\.remember_triggered|runs\.pause|queues\.(?:send|redrive)|tasks\.release)$/,
  'queues whose messages come again until they are settled':
    /^(?:queues\.(?:hide|note_dead|forget_dead)|queue_outbox\.(?:insert|claim|delete|postpone)|queue_bodies\.[a-z]+)$/,
  'what scans found, merged in one transaction by a task that runs again; reads of it, and housekeeping':
    /^findings(?:\.|$)/,
  'runs of models, cut short at every statement by a test of its own (test/engine/models/crash)':
    /^models\.(?:lock_target|insert_run|count_run|get_run|merge|cover|mark_gone|finish)$/,
  'what waits to be merged: each chunk is one statement, which the next attempt does not read; housekeeping':
    /^scan_chunks\./,
  'reads of models, nothing to lose; housekeeping, one statement a pass':
    /^models(?:\.(?:get|list|list_[a-z_]+|delete_[a-z]+))?$/,
  'within the transaction that stores the workflow, and reads of what notifications tell':
    /^notices\.(?:put_entries|bad_ends|count_before|nodes|workflow_name)$/,
  'what a task puts under a name, again at its next attempt; reads of it': /^collection_data\./,
  'what tasks ask of the pool, said again by every pass of the manager; reads (test/engine/runners, test/app/pool)':
    /^runner_tasks\./,
  'of operators, who see no answer and ask again; housekeeping': /^(?:recovery|upkeep|listener)\./,
  'killed with an attempt, by a test of its own': new RegExp(
    `^(?:${Object.keys(ATTEMPT_CRASH_CALLS).join('|').replaceAll('.', '\\.')})$`,
  ),
  'reads of attempts, logs and artifacts, nothing to lose':
    /^(?:attempts\.of_task|logs\.(?:read|latest)|artifacts\.(?:get|list|find))$/,
  'what was sent for tasks, recorded before it is sent, which its recipient asks for again; reads; housekeeping':
    /^sent_secrets\./,
  'single statements of operators, who see no answer and ask again; reads of secrets':
    /^(?:artifacts\.pin|named_secrets\.(?:list|list_retired|remove|reseal|reseal_retired))$/,
  'reads of runs, of the calendar and of kinds, nothing to lose; kinds are described again at the next start':
    /^(?:runs\.|search\.|kinds\.(?:list|get|describe|find_one)$|deliveries\.exists$|flow\.task_places$|job_history\.between$|jobs\.list_scheduled$)/,
  'settings and records, not tasks': /^(?:secrets|tokens|sessions|definitions)\./,
};
