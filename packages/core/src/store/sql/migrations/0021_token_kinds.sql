-- Kinds whose tasks a token may claim; null: any.
alter table api_token add column kinds text[];
