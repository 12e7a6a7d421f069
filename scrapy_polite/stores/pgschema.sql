-- Version 1 of the tables of the Postgres store. All times are microseconds of the server's clock.

-- One row: which version stands here.
CREATE TABLE polite.meta (version integer NOT NULL);

-- A row with an alias is only a sign that points to another key. Collation "C": the order of the bytes, which is also the
-- order in which clients sort. fillfactor, and no index on what a booking changes: every booking is a HOT update.
CREATE TABLE polite.slot (
    key text COLLATE "C" PRIMARY KEY,
    due bigint NOT NULL DEFAULT 0,
    last bigint NOT NULL DEFAULT 0,
    hold bigint NOT NULL DEFAULT 0,
    alias text COLLATE "C",
    kind text,
    reason text,
    stated boolean
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000);
CREATE INDEX slot_held ON polite.slot (key) WHERE hold > 0;
CREATE INDEX slot_alias ON polite.slot (alias) WHERE alias IS NOT NULL;

-- age: the lower, the older.
CREATE TABLE polite.origin (age bigint GENERATED ALWAYS AS IDENTITY, name text COLLATE "C" PRIMARY KEY);
CREATE TABLE polite.anchor (anchor text COLLATE "C" PRIMARY KEY, name text COLLATE "C" NOT NULL);
CREATE INDEX anchor_name ON polite.anchor (name);
