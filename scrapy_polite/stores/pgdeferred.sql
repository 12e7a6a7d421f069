-- Requests that were put off. not_before, made, until: seconds since 1970. request: JSON, which nothing here reads.

CREATE TABLE IF NOT EXISTS polite.deferred (
    owner text COLLATE "C" NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    url text NOT NULL,
    method text NOT NULL,
    callback text NOT NULL,
    errback text NOT NULL,
    kind text NOT NULL,
    reason text NOT NULL,
    priority bigint NOT NULL,
    not_before double precision NOT NULL,
    made double precision NOT NULL,
    request text NOT NULL,
    run text COLLATE "C" NOT NULL,
    until double precision NOT NULL,
    PRIMARY KEY (owner, fingerprint)
);
CREATE INDEX IF NOT EXISTS deferred_turn ON polite.deferred (owner, priority DESC, made, fingerprint);
CREATE INDEX IF NOT EXISTS deferred_key ON polite.deferred (key);
CREATE INDEX IF NOT EXISTS deferred_run ON polite.deferred (run) WHERE run <> '';

-- How many. p_rows: a list of objects with the columns as names, each owner and fingerprint once.
CREATE OR REPLACE FUNCTION polite.defer(p_rows json) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    found bigint;
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    INSERT INTO polite.deferred AS d
        SELECT q.* FROM json_populate_recordset(NULL::polite.deferred, p_rows) q ORDER BY q.owner, q.fingerprint
        ON CONFLICT (owner, fingerprint) DO UPDATE SET key = excluded.key, url = excluded.url, method = excluded.method,
            callback = excluded.callback, errback = excluded.errback, kind = excluded.kind, reason = excluded.reason,
            priority = excluded.priority, not_before = excluded.not_before, made = excluded.made, request = excluded.request,
            run = excluded.run, until = excluded.until;
    GET DIAGNOSTICS found = ROW_COUNT;
    RETURN found;
END $$;

-- Rows that another process is just taking are left to it. What is an hour further in the future than it can be was written by
-- a clock that was wrong (AHEAD in deferring.py).
CREATE OR REPLACE FUNCTION polite.take_deferred(p_owner text, p_run text, p_most bigint, p_lease double precision,
    p_within double precision) RETURNS SETOF polite.deferred LANGUAGE plpgsql AS $$
DECLARE
    now double precision := polite.clock() / 1e6;
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    RETURN QUERY UPDATE polite.deferred d SET run = p_run, until = now + p_lease
        FROM (SELECT t.owner, t.fingerprint FROM polite.deferred t
            WHERE t.owner = p_owner AND (t.until <= now OR t.until > now + p_lease + 3600)
                AND (t.not_before <= now + p_within OR t.made > now + 3600)
            ORDER BY t.priority DESC, t.made, t.fingerprint LIMIT p_most FOR NO KEY UPDATE SKIP LOCKED) q
        WHERE d.owner = q.owner AND d.fingerprint = q.fingerprint
        RETURNING d.*;
END $$;

-- A role that could use the slots can use this table in the same way.
DO $$
DECLARE
    given record;
BEGIN
    FOR given IN
        SELECT x.privilege_type, CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END AS grantee
            FROM pg_class c, aclexplode(c.relacl) x WHERE c.oid = 'polite.slot'::regclass AND x.grantee <> c.relowner
                AND x.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
    LOOP
        EXECUTE format('GRANT %s ON polite.deferred TO %s', given.privilege_type, given.grantee);
    END LOOP;
END $$;
