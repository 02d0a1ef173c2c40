-- Whether a worker has ever asked for tasks of the kind. Of kinds from before nobody knows; they count as taken.
alter table kind add column taken boolean not null default false;
update kind set taken = true;
