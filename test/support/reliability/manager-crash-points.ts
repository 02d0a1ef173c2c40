/**
 * Where the manager dies: the calls of each statement that a run cannot do without, the first being 1. `commit` is the
 * end of any transaction.
 */
export const MANAGER_CRASH_CALLS: Readonly<Record<string, readonly number[]>> = {
  'queues.receive': [1, 2, 4],
  'inbox.remember': [1, 2, 4],
  // Steps 2 to 4: what time ends, workflows, nodes.
  'tasks.promote_delayed': [2],
  'tasks.sweep_leases': [2],
  'trees.insert_workflows': [1],
  'trees.place_nodes': [1],
  'trees.store_nodes': [1, 2],
  // Step 5: presence, heartbeats, ends, results.
  'claimers.workers_seen': [1],
  'tasks.heartbeat': [1, 2],
  'tasks.find_roots': [1],
  'tasks.settle': [1, 2, 4],
  // Steps 6 and 7.
  'trees.complete_generators': [2, 4],
  'trees.reevaluate': [1, 3],
  'kinds.dispatchable': [2],
  'tasks.dispatch': [1, 2, 4],
  'flow.read_for_inputs': [1, 2],
  'queues.send_and_notify': [1, 3],
  // Steps 8 and 9.
  'finalization.take': [1],
  'finalization.find_job_run_ends': [1],
  'job_history.finish': [1],
  'notices.take_ends': [1],
  'notices.read_for_templates': [1],
  'notices.write': [1],
  'finalization.delete': [1, 2],
  'jobs.lock_due': [1],
  'job_history.insert': [1],
  'jobs.advance': [1],
  // What is written to the queue.
  'queues.delete': [1, 2, 4],
  'queues.dead_letter': [1],
  commit: [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20],
};
