-- A collation of its own, so that only what asks for it, to find what is due, uses this index: to the planner it looks as good as the
-- key for a queue that was empty when a statement was planned, and would then be read as a whole for each settled set.
drop index queue_message_due;
create index queue_message_due on queue_message (queue collate "POSIX", visible_at);
