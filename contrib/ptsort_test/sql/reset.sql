-- One sort object does many sorts.  The test resets it at every stage, in memory
-- and with runs.
SELECT variant, index, access, checked > 20 AS checked, method, space, runs > 0 AS runs,
	   most_memory < 500000 AS memory
FROM unnest('{datum,tuple,index}'::text[]) variant,
	 unnest('{shape_int8_i,shape_text_i,shape_default_i,shape_own_i}'::regclass[]) index,
	 unnest('{false,true}'::bool[]) access,
	 ptsort_test_reset(variant, index, 60, 500, random_access => access)
ORDER BY variant COLLATE "C", index::text COLLATE "C", access;

CREATE FUNCTION reset_spilled(merge_order int, spill_entries int, variant text, index regclass,
	access bool, stable bool, OUT checked bool, OUT method text, OUT space text, OUT runs bool, OUT memory bool)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('ptsort_test.merge_order', merge_order::text, true);
	PERFORM set_config('ptsort_test.spill_entries', spill_entries::text, true);
	SELECT s.checked > 20, s.method, s.space, s.runs > 50, s.most_memory < 500000
	INTO checked, method, space, runs, memory
	FROM ptsort_test_reset(variant, index, 60, 500, random_access => access, stable => stable) s;
END $$;
SELECT variant, index, access, stable, s.*
FROM unnest('{datum,tuple,index}'::text[]) variant,
	 unnest('{shape_int8_i,shape_default_i}'::regclass[]) index,
	 unnest('{false,true}'::bool[]) access,
	 unnest('{false,true}'::bool[]) stable,
	 reset_spilled(3, 90, variant, index, access, stable) s
ORDER BY variant COLLATE "C", index::text COLLATE "C", access, stable;

-- Large sorts between small sorts: a reset frees the memory of a large sort.
SELECT checked > 5 AS checked, method, runs > 0 AS runs, most_memory < 500000 AS memory
FROM ptsort_test_reset('tuple', 'shape_text_i', 20, 60000, 2048);
SELECT ptsort_test_temp_files();
