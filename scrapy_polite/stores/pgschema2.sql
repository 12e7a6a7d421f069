-- Version 2: hosts with their evidence, numbers for anchors, rulings, notes; names that became one can come apart again.
-- Goes on from version 1, in which an origin had anchors and no hosts.

DROP FUNCTION IF EXISTS polite.origin_of(text[], text);
DROP FUNCTION IF EXISTS polite.book_each(text[], integer[], bigint[], bigint[], integer[], bigint);

-- asked, seen: seconds of the server's clock, by which what nobody uses is forgotten.
ALTER TABLE polite.slot ADD COLUMN asked bigint;
UPDATE polite.slot SET asked = date_part('epoch', clock_timestamp()) WHERE alias IS NOT NULL;
CREATE INDEX slot_asked ON polite.slot (asked) WHERE alias IS NOT NULL;

-- number: the lower, the older. The anchor that named its origin comes first, so that it goes on to.
ALTER TABLE polite.anchor ADD COLUMN number bigint, ADD COLUMN seen bigint;
UPDATE polite.anchor a SET number = q.number, seen = date_part('epoch', clock_timestamp())
    FROM (SELECT b.anchor, row_number() OVER (ORDER BY o.age,
                o.name <> 'origin:' || substr(b.anchor, strpos(b.anchor, ':') + 1), b.anchor) AS number
            FROM polite.anchor b LEFT JOIN polite.origin o ON o.name = b.name) q
    WHERE q.anchor = a.anchor;
ALTER TABLE polite.anchor DROP COLUMN name, ADD UNIQUE (number), ALTER COLUMN seen SET NOT NULL,
    ALTER COLUMN number SET NOT NULL, ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY;
SELECT setval(pg_get_serial_sequence('polite.anchor', 'number'), coalesce(max(a.number), 0) + 1, false) FROM polite.anchor a;
CREATE INDEX anchor_seen ON polite.anchor (seen);
DROP TABLE polite.origin;

-- number: in the order of coming. anchors: their numbers. facts: JSON, which nothing here reads.
CREATE TABLE polite.host (
    number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    host text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    seen bigint NOT NULL,
    origin text COLLATE "C" NOT NULL,
    confidence double precision NOT NULL,
    anchors bigint[] NOT NULL,
    facts text NOT NULL
);
CREATE INDEX host_version ON polite.host (version);
CREATE INDEX host_origin ON polite.host (origin, number);
CREATE TABLE polite.pointer (anchor bigint, host bigint, PRIMARY KEY (anchor, host));

-- made, until: seconds of the wall clock.
CREATE TABLE polite.ruling (
    subject text COLLATE "C" PRIMARY KEY,
    verb text NOT NULL,
    origin text NOT NULL,
    author text NOT NULL,
    reason text NOT NULL,
    made double precision NOT NULL,
    until double precision
);

-- What was learned of a key. text: JSON, which nothing here reads.
CREATE TABLE polite.note (
    subject text COLLATE "C",
    kind text COLLATE "C",
    text text NOT NULL,
    seen bigint NOT NULL,
    PRIMARY KEY (subject, kind)
);
CREATE INDEX note_seen ON polite.note (seen);

-- One row: the newest version, and the one of the newest ruling. Whoever writes a version locks it until the commit, so
-- that versions become visible in their order.
CREATE TABLE polite.counter (version bigint NOT NULL, ruled bigint NOT NULL) WITH (fillfactor = 50);
INSERT INTO polite.counter VALUES (0, 0);

-- A role that could use the slots can use the new tables in the same way.
DO $$
DECLARE
    given record;
BEGIN
    FOR given IN
        SELECT x.privilege_type, CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END AS grantee
            FROM pg_class c, aclexplode(c.relacl) x WHERE c.oid = 'polite.slot'::regclass AND x.grantee <> c.relowner
                AND x.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
    LOOP
        EXECUTE format('GRANT %s ON polite.host, polite.pointer, polite.ruling, polite.counter, polite.note TO %s',
            given.privilege_type, given.grantee);
    END LOOP;
END $$;
