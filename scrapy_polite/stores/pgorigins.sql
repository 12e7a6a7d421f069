-- Names that are one, hosts with their evidence, rulings; and what is forgotten of notes. Locks are taken in this order: the counter, the advisory lock
-- ("POLI", 2) under which names become one and come apart, rows of slots by key.

-- Whether it is so now; NULL: ask again.
CREATE OR REPLACE FUNCTION polite.merge(p_name text, p_into text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    younger text;
    older text;
    found integer;
BEGIN
    FOR attempt IN 1..2 LOOP
        younger := polite.standing(p_name);
        older := polite.standing(p_into);
        IF younger = older THEN
            RETURN true;
        ELSIF attempt = 1 THEN
            PERFORM set_config('synchronous_commit', 'on', true);
            -- Whoever waited looks again.
            PERFORM pg_advisory_xact_lock(1347373129, 2);
        END IF;
    END LOOP;
    INSERT INTO polite.slot (key) SELECT k FROM unnest(ARRAY[younger, older]) k ORDER BY k COLLATE "C" ON CONFLICT DO NOTHING;
    PERFORM 1 FROM polite.slot s WHERE s.key IN (younger, older) OR s.alias = younger ORDER BY s.key FOR NO KEY UPDATE;
    SELECT count(*) INTO found FROM polite.slot s WHERE s.key IN (younger, older);
    IF found < 2 THEN
        -- Purged before they were locked.
        RETURN NULL;
    END IF;
    PERFORM polite.hand_on(younger, older);
    DELETE FROM polite.note n WHERE n.subject = younger;
    UPDATE polite.slot s SET alias = older, asked = polite.clock() / 1000000,
            due = 0, last = 0, hold = 0, kind = NULL, reason = NULL, stated = NULL
        WHERE s.key = younger OR s.alias = younger;
    RETURN true;
END $$;

-- Whether it is so now; NULL: ask again.
CREATE OR REPLACE FUNCTION polite.split(p_name text, p_of text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    root text;
    freed text;
    found integer;
BEGIN
    FOR attempt IN 1..2 LOOP
        root := polite.standing(p_name);
        IF root <> polite.standing(p_of) OR (p_name = root AND p_of = root) THEN
            RETURN true;
        ELSIF attempt = 1 THEN
            PERFORM set_config('synchronous_commit', 'on', true);
            PERFORM pg_advisory_xact_lock(1347373129, 2);
        END IF;
    END LOOP;
    -- If the name that stands leaves, the others stay with what it leaves.
    freed := CASE WHEN p_name = root THEN p_of ELSE p_name END;
    INSERT INTO polite.slot (key) VALUES (root) ON CONFLICT DO NOTHING;
    PERFORM 1 FROM polite.slot s WHERE s.key IN (root, freed) OR (p_name = root AND s.alias = root)
        ORDER BY s.key FOR NO KEY UPDATE;
    SELECT count(*) INTO found FROM polite.slot s WHERE s.key IN (root, freed);
    IF found < 2 THEN
        RETURN NULL;
    END IF;
    UPDATE polite.slot s SET alias = NULL, asked = NULL WHERE s.key = freed;
    PERFORM polite.hand_on(root, freed);
    IF p_name = root THEN
        UPDATE polite.slot s SET alias = freed WHERE s.alias = root;
    END IF;
    RETURN true;
END $$;

-- p_other is due no earlier than p_one, and held as long, for the cause of the later hold. Both are locked.
CREATE OR REPLACE FUNCTION polite.hand_on(p_one text, p_other text) RETURNS void LANGUAGE sql AS $$
    UPDATE polite.slot o SET due = greatest(o.due, g.due), last = greatest(o.last, g.last), hold = greatest(o.hold, g.hold),
            kind = CASE WHEN g.hold > o.hold THEN g.kind ELSE o.kind END,
            reason = CASE WHEN g.hold > o.hold THEN g.reason ELSE o.reason END,
            stated = CASE WHEN g.hold > o.hold THEN g.stated ELSE o.stated END
        FROM polite.slot g WHERE g.key = p_one AND o.key = p_other
$$;

-- The numbers of the anchors, each given once, in their order; NULL: ask again. The longest ago that an anchor says it was
-- asked for is a day.
CREATE OR REPLACE FUNCTION polite.ages(p_anchors text[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    now bigint := polite.clock() / 1000000;
    numbers bigint[];
BEGIN
    IF EXISTS (SELECT FROM unnest(p_anchors) q (anchor) LEFT JOIN polite.anchor a ON a.anchor = q.anchor
            WHERE a.anchor IS NULL OR a.seen < now - 86400) THEN
        -- A number that somebody has seen must not be lost in a crash, and be given again.
        PERFORM set_config('synchronous_commit', 'on', true);
        INSERT INTO polite.anchor (anchor, seen)
            SELECT q.anchor, now FROM unnest(p_anchors) q (anchor) LEFT JOIN polite.anchor a ON a.anchor = q.anchor
                WHERE a.anchor IS NULL ORDER BY q.anchor COLLATE "C" ON CONFLICT DO NOTHING;
        UPDATE polite.anchor a SET seen = now WHERE a.anchor IN (
            SELECT b.anchor FROM polite.anchor b WHERE b.anchor = ANY (p_anchors) AND b.seen < now - 86400
                FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
    SELECT array_agg(a.number ORDER BY q.n) INTO numbers
        FROM unnest(p_anchors) WITH ORDINALITY q (anchor, n) JOIN polite.anchor a ON a.anchor = q.anchor;
    RETURN CASE WHEN coalesce(cardinality(numbers), 0) = cardinality(p_anchors) THEN coalesce(numbers, '{}') END;
END $$;

-- The names of anchors, in the order of their numbers here.
CREATE OR REPLACE FUNCTION polite.named(p_numbers bigint[]) RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(a.anchor ORDER BY q.n), '{}')
        FROM unnest(p_numbers) WITH ORDINALITY q (number, n) JOIN polite.anchor a ON a.number = q.number
$$;

-- Each host once. p_anchors: the text form of an array for each. The version after it; NULL: ask again.
CREATE OR REPLACE FUNCTION polite.keep(p_hosts text[], p_origins text[], p_confidences double precision[], p_facts text[],
    p_anchors text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    now bigint := polite.clock() / 1000000;
    reached bigint;
    before bigint;
    hosts bigint[];
    anchors bigint[];
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    UPDATE polite.counter SET version = version + cardinality(p_hosts) RETURNING version INTO reached;
    before := reached - cardinality(p_hosts);
    PERFORM polite.ages(array_agg(q.anchor)) FROM (SELECT DISTINCT a AS anchor FROM unnest(p_anchors) p, unnest(p::text[]) a) q
        HAVING count(*) > 0;
    SELECT array_agg(h.number), array_agg(a) INTO hosts, anchors
        FROM polite.host h, unnest(h.anchors) a WHERE h.host = ANY (p_hosts);
    INSERT INTO polite.host (host, version, seen, origin, confidence, anchors, facts)
        SELECT q.host, before + q.n, now, q.origin, q.confidence, a.numbers, q.facts
        FROM unnest(p_hosts, p_origins, p_confidences, p_facts, p_anchors)
                WITH ORDINALITY q (host, origin, confidence, facts, anchors, n),
            LATERAL (SELECT coalesce(array_agg(x.number ORDER BY u.n), '{}') AS numbers
                FROM unnest(q.anchors::text[]) WITH ORDINALITY u (anchor, n) JOIN polite.anchor x ON x.anchor = u.anchor) a
        ORDER BY q.n
        ON CONFLICT (host) DO UPDATE SET version = excluded.version, seen = excluded.seen, origin = excluded.origin,
            confidence = excluded.confidence, anchors = excluded.anchors, facts = excluded.facts;
    INSERT INTO polite.pointer (anchor, host)
        SELECT a, h.number FROM polite.host h, unnest(h.anchors) a WHERE h.host = ANY (p_hosts) ON CONFLICT DO NOTHING;
    DELETE FROM polite.pointer p USING unnest(hosts, anchors) q (host, anchor)
        WHERE p.anchor = q.anchor AND p.host = q.host
            AND NOT EXISTS (SELECT FROM polite.host h WHERE h.number = q.host AND q.anchor = ANY (h.anchors));
    RETURN reached;
END $$;

CREATE OR REPLACE FUNCTION polite.rule(p_subject text, p_verb text, p_origin text, p_author text, p_reason text,
    p_made double precision, p_until double precision) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    UPDATE polite.counter SET version = version + 1, ruled = version + 1;
    INSERT INTO polite.ruling AS r VALUES (p_subject, p_verb, p_origin, p_author, p_reason, p_made, p_until)
        ON CONFLICT (subject) DO UPDATE SET verb = excluded.verb, origin = excluded.origin, author = excluded.author,
            reason = excluded.reason, made = excluded.made, until = excluded.until;
END $$;

-- Whether there was one that had not run out.
CREATE OR REPLACE FUNCTION polite.unrule(p_subject text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    live boolean;
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    PERFORM 1 FROM polite.counter FOR NO KEY UPDATE;
    DELETE FROM polite.ruling r WHERE r.subject = p_subject RETURNING coalesce(r.until > polite.clock() / 1e6, true) INTO live;
    IF FOUND THEN
        UPDATE polite.counter SET version = version + 1, ruled = version + 1;
    END IF;
    RETURN coalesce(live, false);
END $$;

-- How many hosts were forgotten. p_idle: microseconds. What is in use is put behind all others, so that the next call looks
-- at others.
CREATE OR REPLACE FUNCTION polite.forget(p_idle bigint, p_limit integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    now bigint := polite.clock() / 1000000;
    before double precision := (polite.clock() - p_idle) / 1e6;
    gone bigint;
BEGIN
    PERFORM 1 FROM polite.counter FOR NO KEY UPDATE;
    WITH oldest AS (SELECT h.number, h.seen, h.anchors FROM polite.host h ORDER BY h.version LIMIT p_limit),
        idle AS (SELECT o.number, o.anchors FROM oldest o WHERE o.seen < before),
        unpointed AS (DELETE FROM polite.pointer p USING idle i, unnest(i.anchors) a WHERE p.anchor = a AND p.host = i.number),
        forgotten AS (DELETE FROM polite.host h USING idle i WHERE h.number = i.number RETURNING 1)
    SELECT count(*) INTO gone FROM forgotten;
    WITH oldest AS (
            SELECT a.number, EXISTS (SELECT FROM polite.pointer p WHERE p.anchor = a.number) AS used
                FROM polite.anchor a WHERE a.seen < before ORDER BY a.seen LIMIT p_limit FOR NO KEY UPDATE SKIP LOCKED),
        renewed AS (UPDATE polite.anchor a SET seen = now FROM oldest o WHERE a.number = o.number AND o.used)
    DELETE FROM polite.anchor a USING oldest o WHERE a.number = o.number AND NOT o.used;
    PERFORM pg_advisory_xact_lock(1347373129, 2);
    WITH oldest AS (
            SELECT s.key, EXISTS (SELECT FROM polite.host h WHERE h.origin = s.key)
                    OR EXISTS (SELECT FROM polite.ruling r WHERE r.subject = s.key) AS used
                FROM polite.slot s WHERE s.alias IS NOT NULL AND s.asked < before ORDER BY s.asked LIMIT p_limit
                FOR NO KEY UPDATE SKIP LOCKED),
        renewed AS (UPDATE polite.slot s SET asked = now FROM oldest o WHERE s.key = o.key AND o.used)
    DELETE FROM polite.slot s USING oldest o WHERE s.key = o.key AND NOT o.used;
    -- Under the advisory lock, as a merge: they take several rows, and nobody else does.
    DELETE FROM polite.note n USING (
            SELECT m.subject, m.kind FROM polite.note m WHERE m.seen < before ORDER BY m.seen LIMIT p_limit
                FOR UPDATE SKIP LOCKED) o
        WHERE n.subject = o.subject AND n.kind = o.kind;
    RETURN gone;
END $$;
