\echo Use "CREATE EXTENSION ptsort_am" to load this file. \quit

CREATE FUNCTION ptsort_am_handler(internal) RETURNS index_am_handler
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

CREATE ACCESS METHOD ptsort_am TYPE INDEX HANDLER ptsort_am_handler;

CREATE OPERATOR CLASS int8_ops DEFAULT FOR TYPE int8 USING ptsort_am AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >;

-- Operators for int4, so that a query can compare the column with a plain number.
ALTER OPERATOR FAMILY int8_ops USING ptsort_am ADD
	OPERATOR 1 < (int8, int4), OPERATOR 2 <= (int8, int4), OPERATOR 3 = (int8, int4),
	OPERATOR 4 >= (int8, int4), OPERATOR 5 > (int8, int4);
