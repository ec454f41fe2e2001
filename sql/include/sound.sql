\set echo :ECHO
\set ECHO none
-- For tests of index builds.  Raises an error if ptsort_check() finds a problem in
-- an index, or does not check it.  Returns the number of entries.
CREATE OR REPLACE FUNCTION sound(index regclass, heap bool DEFAULT true) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
	found record;
BEGIN
	SELECT * INTO found FROM ptsort_check(index, heap => heap, workers => 0);
	IF found.problems = 0 THEN
		RETURN found.tuples;
	END IF;
	RAISE EXCEPTION '%: % problems: %', index, found.problems, found.details;
END $$;
\set ECHO :echo
