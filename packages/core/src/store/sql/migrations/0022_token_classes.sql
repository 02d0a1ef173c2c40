-- Classes of runners that a token may register; null: any.
alter table api_token add column classes text[];
