-- Version 1 of the tables and functions of the Postgres store. All times are microseconds of the server's clock.

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

-- Not now(): that is when the transaction began, which may have waited for a lock since. date_part, not extract: a double
-- has room for the microseconds of some centuries, and costs less than numeric.
CREATE FUNCTION polite.clock() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT (date_part('epoch', clock_timestamp()) * 1000000)::bigint
$$;

-- The key that a name stands for.
CREATE FUNCTION polite.standing(p_key text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT s.alias FROM polite.slot s WHERE s.key = p_key), p_key)
$$;

-- The three that book answer in one array, or NULL: ask again, since a key became an alias or was purged meanwhile. A slot
-- beyond now + ahead is a refusal, and nothing was written.

-- One key: {now, slot}.
CREATE FUNCTION polite.book_one(p_key text, p_increment bigint, p_tolerance bigint, p_ahead bigint) RETURNS bigint[]
    LANGUAGE plpgsql AS $$
DECLARE
    slot bigint;
    now bigint;
    known bigint;
    other text;
BEGIN
    FOR attempt IN 1..3 LOOP
        -- What is not due is not locked. After a wait for the lock, the condition is looked at again.
        SELECT s.due, greatest(s.due - p_tolerance, s.last, s.hold) INTO known, slot FROM polite.slot s
            WHERE s.key = p_key AND s.alias IS NULL
                AND greatest(s.due - p_tolerance, s.last, s.hold) <= polite.clock() + p_ahead
            FOR NO KEY UPDATE;
        IF FOUND THEN
            now := polite.clock();
            slot := greatest(slot, now);
            UPDATE polite.slot s SET due = greatest(known, slot) + p_increment, last = slot WHERE s.key = p_key;
            RETURN ARRAY[now, slot];
        END IF;
        now := polite.clock();
        SELECT greatest(s.due - p_tolerance, s.last, s.hold), s.alias INTO slot, other FROM polite.slot s WHERE s.key = p_key;
        IF NOT FOUND THEN
            INSERT INTO polite.slot (key) VALUES (p_key) ON CONFLICT DO NOTHING;
        ELSIF other IS NOT NULL THEN
            RETURN NULL;
        ELSIF slot > now + p_ahead THEN
            RETURN ARRAY[now, slot];
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- All keys of one want, sorted: {now, slot, position of the key that comes free last}.
CREATE FUNCTION polite.book_all(p_keys text[], p_increments bigint[], p_tolerances bigint[], p_ahead bigint) RETURNS bigint[]
    LANGUAGE plpgsql AS $$
DECLARE
    now bigint;
    slot bigint;
    slowest integer;
    free bigint;
    latest bigint := 0;
    other text;
    missing boolean := false;
BEGIN
    -- First without locks: a lock is a write, and a refusal writes nothing.
    FOR i IN 1..cardinality(p_keys) LOOP
        SELECT greatest(s.due - p_tolerances[i], s.last, s.hold), s.alias INTO free, other
            FROM polite.slot s WHERE s.key = p_keys[i];
        IF NOT FOUND THEN
            missing := true;
        ELSIF other IS NOT NULL THEN
            RETURN NULL;
        ELSIF free > latest THEN
            latest := free;
            slowest := i;
        END IF;
    END LOOP;
    now := polite.clock();
    IF latest > now + p_ahead THEN
        RETURN ARRAY[now, latest, slowest];
    END IF;
    -- New rows first, and sorted too: an insert waits for another session's insert of the same key.
    IF missing THEN
        INSERT INTO polite.slot (key) SELECT k FROM unnest(p_keys) k ORDER BY k COLLATE "C" ON CONFLICT DO NOTHING;
    END IF;
    latest := 0;
    FOR i IN 1..cardinality(p_keys) LOOP
        SELECT greatest(s.due - p_tolerances[i], s.last, s.hold), s.alias INTO free, other
            FROM polite.slot s WHERE s.key = p_keys[i] FOR NO KEY UPDATE;
        IF NOT FOUND OR other IS NOT NULL THEN
            RETURN NULL;
        ELSIF free > latest THEN
            latest := free;
            slowest := i;
        END IF;
    END LOOP;
    now := polite.clock();
    slot := greatest(latest, now);
    IF slot <= now + p_ahead THEN
        FOR i IN 1..cardinality(p_keys) LOOP
            UPDATE polite.slot s SET due = greatest(s.due, slot) + p_increments[i], last = slot WHERE s.key = p_keys[i];
        END LOOP;
    END IF;
    RETURN ARRAY[now, slot, slowest];
END $$;

-- Several wants, in order; each sees what the ones before it have booked. p_keys: every key once, sorted. Demand i is about
-- key p_at[i]; the demands of want w end at p_ends[w]. {now, and for each want its slot and its slowest demand}.
CREATE FUNCTION polite.book_each(p_keys text[], p_at integer[], p_increments bigint[], p_tolerances bigint[],
    p_ends integer[], p_ahead bigint) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    now bigint;
    answers bigint[];
    aliased boolean;
    dues bigint[];
    lasts bigint[];
    holds bigint[];
    locked boolean[] := array_fill(false, ARRAY[cardinality(p_keys)]);
    moved boolean[] := locked;
    refused boolean[] := array_fill(false, ARRAY[cardinality(p_ends)]);
    row record;
    wanted integer;
    start integer;
    w integer;
    k integer;
    free bigint;
    latest bigint;
    missing boolean := false;
BEGIN
    -- Sorted once, below the aggregates: four with an ORDER BY of their own take four times as long.
    SELECT array_agg(q.due), array_agg(q.last), array_agg(q.hold), coalesce(bool_or(q.known IS NULL), false),
            coalesce(bool_or(q.alias IS NOT NULL), false)
        INTO dues, lasts, holds, missing, aliased
        FROM (SELECT coalesce(s.due, 0) AS due, coalesce(s.last, 0) AS last, coalesce(s.hold, 0) AS hold, s.key AS known, s.alias
            FROM unnest(p_keys) WITH ORDINALITY q (key, n) LEFT JOIN polite.slot s ON s.key = q.key ORDER BY q.n) q;
    IF aliased THEN
        RETURN NULL;
    END IF;
    -- Only the keys of wants that may pass are locked. Due times do not come nearer, so the others stay refused.
    now := polite.clock();
    w := 1;
    FOR i IN 1..cardinality(p_at) LOOP
        WHILE i > p_ends[w] LOOP
            w := w + 1;
        END LOOP;
        IF greatest(dues[p_at[i]] - p_tolerances[i], lasts[p_at[i]], holds[p_at[i]]) > now + p_ahead THEN
            refused[w] := true;
        END IF;
    END LOOP;
    start := 1;
    FOR want IN 1..cardinality(p_ends) LOOP
        IF NOT refused[want] THEN
            FOR i IN start..p_ends[want] LOOP
                locked[p_at[i]] := true;
            END LOOP;
        END IF;
        start := p_ends[want] + 1;
    END LOOP;
    wanted := cardinality(array_positions(locked, true));
    IF wanted > 0 THEN
        IF missing THEN
            INSERT INTO polite.slot (key) SELECT q.key FROM unnest(p_keys, locked) q (key, wanted)
                WHERE q.wanted ORDER BY q.key COLLATE "C" ON CONFLICT DO NOTHING;
        END IF;
        FOR row IN
            SELECT q.n, s.due, s.last, s.hold, s.alias
                FROM unnest(p_keys, locked) WITH ORDINALITY q (key, wanted, n) JOIN polite.slot s ON s.key = q.key
                WHERE q.wanted ORDER BY q.n FOR NO KEY UPDATE OF s
        LOOP
            IF row.alias IS NOT NULL THEN
                RETURN NULL;
            END IF;
            dues[row.n] := row.due;
            lasts[row.n] := row.last;
            holds[row.n] := row.hold;
            wanted := wanted - 1;
        END LOOP;
        IF wanted > 0 THEN
            RETURN NULL;
        END IF;
        now := polite.clock();
    END IF;
    answers[1] := now;
    start := 1;
    FOR want IN 1..cardinality(p_ends) LOOP
        latest := now;
        k := NULL;
        FOR i IN start..p_ends[want] LOOP
            free := greatest(dues[p_at[i]] - p_tolerances[i], lasts[p_at[i]], holds[p_at[i]]);
            IF free > latest OR k IS NULL THEN
                latest := greatest(latest, free);
                k := i;
            END IF;
        END LOOP;
        answers[2 * want + 1] := k;
        IF NOT refused[want] AND latest <= now + p_ahead THEN
            FOR i IN start..p_ends[want] LOOP
                k := p_at[i];
                dues[k] := greatest(dues[k], latest) + p_increments[i];
                lasts[k] := latest;
                moved[k] := true;
            END LOOP;
        ELSE
            -- Refused by what stood there before we waited for a lock: that it has come free since is for the next call.
            latest := greatest(latest, now + p_ahead + 1);
        END IF;
        answers[2 * want] := latest;
        start := p_ends[want] + 1;
    END LOOP;
    IF true = ANY (moved) THEN
        UPDATE polite.slot s SET due = q.due, last = q.last
            FROM unnest(p_keys, dues, lasts, moved) q (key, due, last, moved) WHERE s.key = q.key AND q.moved;
    END IF;
    RETURN answers;
END $$;

-- The microseconds now in force; NULL: ask again.
CREATE FUNCTION polite.hold(p_key text, p_micros bigint, p_kind text, p_reason text, p_stated boolean) RETURNS bigint
    LANGUAGE plpgsql AS $$
DECLARE
    held text := polite.standing(p_key);
    until bigint;
    other text;
    now bigint;
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    IF p_micros > 0 THEN
        INSERT INTO polite.slot (key) VALUES (held) ON CONFLICT DO NOTHING;
    END IF;
    SELECT s.hold, s.alias INTO until, other FROM polite.slot s WHERE s.key = held FOR NO KEY UPDATE;
    IF other IS NOT NULL OR (NOT FOUND AND p_micros > 0) THEN
        RETURN NULL;
    END IF;
    now := polite.clock();
    until := coalesce(until, 0);
    IF now + p_micros > greatest(until, now) THEN
        until := now + p_micros;
        UPDATE polite.slot s SET hold = until, kind = p_kind, reason = p_reason, stated = p_stated WHERE s.key = held;
    END IF;
    RETURN greatest(0, until - now);
END $$;

-- Whether there was a live hold; NULL: ask again.
CREATE FUNCTION polite.release(p_key text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    held text := polite.standing(p_key);
    until bigint;
    other text;
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    SELECT s.hold, s.alias INTO until, other FROM polite.slot s WHERE s.key = held FOR NO KEY UPDATE;
    IF other IS NOT NULL THEN
        RETURN NULL;
    ELSIF until IS NULL OR until = 0 THEN
        RETURN false;
    END IF;
    UPDATE polite.slot s SET hold = 0, kind = NULL, reason = NULL, stated = NULL WHERE s.key = held;
    RETURN until > polite.clock();
END $$;

CREATE FUNCTION polite.settle(p_key text, p_micros bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR attempt IN 1..3 LOOP
        -- The row is looked at again after a wait for its lock: it may have become an alias, and then the next round knows.
        UPDATE polite.slot s SET due = greatest(s.last, s.due + p_micros)
            WHERE s.key = polite.standing(p_key) AND s.alias IS NULL AND s.last > 0;
        EXIT WHEN FOUND;
    END LOOP;
END $$;

CREATE FUNCTION polite.origin_of(p_anchors text[], p_name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    met text[];
    known bigint;
    oldest text;
    younger text[];
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    FOR attempt IN 1..2 LOOP
        SELECT count(*) INTO known FROM polite.anchor a WHERE a.anchor = ANY (p_anchors);
        SELECT array_agg(o.name ORDER BY o.age) INTO met FROM polite.origin o
            WHERE o.name IN (SELECT a.name FROM polite.anchor a WHERE a.anchor = ANY (p_anchors));
        IF cardinality(p_anchors) = 0 THEN
            RETURN polite.standing(p_name);
        ELSIF known = cardinality(p_anchors) AND cardinality(met) = 1 THEN
            RETURN met[1];
        END IF;
        -- Something is new. One writer at a time ("POLI", 2); whoever waited looks again.
        PERFORM pg_advisory_xact_lock(1347373129, 2);
    END LOOP;
    oldest := coalesce(met[1], polite.standing(p_name));
    younger := met[2:];
    IF cardinality(younger) > 0 THEN
        INSERT INTO polite.slot (key) SELECT k FROM unnest(met) k ORDER BY k COLLATE "C" ON CONFLICT DO NOTHING;
        PERFORM 1 FROM polite.slot s WHERE s.key = ANY (met) OR s.alias = ANY (met) ORDER BY s.key FOR NO KEY UPDATE;
        UPDATE polite.slot s SET due = q.due, last = q.last
            FROM (SELECT max(m.due) AS due, max(m.last) AS last FROM polite.slot m WHERE m.key = ANY (met)) q
            WHERE s.key = oldest;
        UPDATE polite.slot s SET hold = q.hold, kind = q.kind, reason = q.reason, stated = q.stated
            FROM (SELECT * FROM polite.slot m WHERE m.key = ANY (met) ORDER BY m.hold DESC, m.key = oldest DESC LIMIT 1) q
            WHERE s.key = oldest;
        UPDATE polite.slot s SET alias = oldest, due = 0, last = 0, hold = 0, kind = NULL, reason = NULL, stated = NULL
            WHERE s.key = ANY (younger) OR s.alias = ANY (younger);
        UPDATE polite.anchor a SET name = oldest WHERE a.name = ANY (younger);
        DELETE FROM polite.origin o WHERE o.name = ANY (younger);
    END IF;
    INSERT INTO polite.origin (name) VALUES (oldest) ON CONFLICT DO NOTHING;
    INSERT INTO polite.anchor (anchor, name) SELECT a, oldest FROM unnest(p_anchors) a ON CONFLICT DO NOTHING;
    RETURN oldest;
END $$;

-- How many keys were forgotten. Rows that somebody works on are left for later.
CREATE FUNCTION polite.purge(p_idle bigint, p_limit integer) RETURNS bigint LANGUAGE sql AS $$
    WITH gone AS (
        DELETE FROM polite.slot s WHERE s.key IN (
            SELECT i.key FROM polite.slot i, (SELECT polite.clock() AS now OFFSET 0) c
            WHERE i.alias IS NULL AND greatest(i.due, i.last, i.hold) < c.now - p_idle
            LIMIT p_limit FOR NO KEY UPDATE OF i SKIP LOCKED)
        RETURNING 1)
    SELECT count(*) FROM gone
$$;
