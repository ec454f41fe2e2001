\echo Use "CREATE EXTENSION ptsort" to load this file. \quit

-- Creating a C function loads the library into the session.  Once the library
-- is loaded, ptsort does the session's index builds.
CREATE FUNCTION ptsort_last_build(
	OUT index_name pg_catalog.text,
	OUT participant pg_catalog.int4,
	OUT role pg_catalog.text,
	OUT tuples pg_catalog.int8,
	OUT runs pg_catalog.int8,
	OUT run_bytes pg_catalog.int8,
	OUT scan_ms pg_catalog.float8,
	OUT sort_ms pg_catalog.float8,
	OUT run_ms pg_catalog.float8,
	OUT merge_load_ms pg_catalog.float8,
	OUT comparisons pg_catalog.int8,
	OUT pages pg_catalog.int8,
	OUT wal_bytes pg_catalog.int8,
	OUT peak_memory_bytes pg_catalog.int8,
	OUT temp_bytes pg_catalog.int8,
	OUT paused_ms pg_catalog.float8,
	OUT validation_ms pg_catalog.float8,
	OUT table_pages pg_catalog.int8,
	OUT validated_pages pg_catalog.int8,
	OUT validated_rows pg_catalog.int8,
	OUT inserted_rows pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'ptsort_last_build'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION ptsort_last_build() IS
	'what the participants of this session''s last ptsort index build did';

CREATE FUNCTION ptsort_last_sort(
	OUT sorts pg_catalog.int8,
	OUT keys pg_catalog.int4,
	OUT tuples pg_catalog.int8,
	OUT method pg_catalog.text,
	OUT runs pg_catalog.int8,
	OUT comparisons pg_catalog.int8,
	OUT sort_ms pg_catalog.float8,
	OUT run_ms pg_catalog.float8,
	OUT peak_memory_bytes pg_catalog.int8,
	OUT temp_bytes pg_catalog.int8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'ptsort_last_sort'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1;

COMMENT ON FUNCTION ptsort_last_sort() IS
	'what the last query sort by ptsort in this session did';

CREATE FUNCTION ptsort_last_copy(
	OUT index_name pg_catalog.text,
	OUT participant pg_catalog.int4,
	OUT role pg_catalog.text,
	OUT tuples pg_catalog.int8,
	OUT runs pg_catalog.int8,
	OUT run_bytes pg_catalog.int8,
	OUT scan_ms pg_catalog.float8,
	OUT sort_ms pg_catalog.float8,
	OUT run_ms pg_catalog.float8,
	OUT write_ms pg_catalog.float8,
	OUT comparisons pg_catalog.int8,
	OUT pages pg_catalog.int8,
	OUT wal_bytes pg_catalog.int8,
	OUT peak_memory_bytes pg_catalog.int8,
	OUT temp_bytes pg_catalog.int8,
	OUT paused_ms pg_catalog.float8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'ptsort_last_copy'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION ptsort_last_copy() IS
	'what the participants of this session''s last CLUSTER by ptsort did';

CREATE FUNCTION ptsort_check(
	index pg_catalog.regclass,
	heap pg_catalog.bool DEFAULT false,
	workers pg_catalog.int4 DEFAULT NULL,
	"full" pg_catalog.bool DEFAULT false,
	OUT index_name pg_catalog.text,
	OUT pages pg_catalog.int8,
	OUT tuples pg_catalog.int8,
	OUT problems pg_catalog.int8,
	OUT bad_pages pg_catalog.int8,
	OUT out_of_order pg_catalog.int8,
	OUT broken_links pg_catalog.int8,
	OUT duplicates pg_catalog.int8,
	OUT entries_without_row pg_catalog.int8,
	OUT rows_without_entry pg_catalog.int8,
	OUT details pg_catalog.text[],
	OUT participants pg_catalog.int4,
	OUT elapsed_ms pg_catalog.float8)
RETURNS pg_catalog.record
AS 'MODULE_PATHNAME', 'ptsort_check'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION
	ptsort_check(pg_catalog.regclass, pg_catalog.bool, pg_catalog.int4, pg_catalog.bool)
	IS 'checks a btree, GiST or GIN index with all processors';

CREATE FUNCTION ptsort_check_indexes(
	indexes pg_catalog.regclass[],
	heap pg_catalog.bool DEFAULT false,
	workers pg_catalog.int4 DEFAULT NULL,
	"full" pg_catalog.bool DEFAULT false,
	OUT index pg_catalog.regclass,
	OUT problems pg_catalog.int8,
	OUT details pg_catalog.text[],
	OUT elapsed_ms pg_catalog.float8)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'ptsort_check_indexes'
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100;

COMMENT ON FUNCTION
	ptsort_check_indexes(pg_catalog.regclass[], pg_catalog.bool, pg_catalog.int4, pg_catalog.bool)
	IS 'checks btree, GiST and GIN indexes, several at a time';

CREATE FUNCTION ptsort_forecast(
	statement pg_catalog.text,
	OUT index_name pg_catalog.text,
	OUT table_name pg_catalog.text,
	OUT "rows" pg_catalog.int8,
	OUT index_bytes pg_catalog.int8,
	OUT temp_bytes pg_catalog.int8,
	OUT wal_bytes pg_catalog.int8,
	OUT memory_bytes pg_catalog.int8,
	OUT participants pg_catalog.int4,
	OUT participants_reason pg_catalog.text,
	OUT seconds pg_catalog.float8,
	OUT index_free_bytes pg_catalog.int8,
	OUT temp_free_bytes pg_catalog.int8,
	OUT wal_free_bytes pg_catalog.int8,
	OUT verdict pg_catalog.text)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'ptsort_forecast'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE ROWS 10;

COMMENT ON FUNCTION ptsort_forecast(pg_catalog.text) IS
	'sizes and time of the index builds of a statement, which does not run';

CREATE FUNCTION ptsort_duplicates(
	index pg_catalog.regclass,
	OUT "table" pg_catalog.regclass,
	OUT ctid pg_catalog.tid,
	OUT group_number pg_catalog.int8,
	OUT keys pg_catalog.text)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'ptsort_duplicates'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE ROWS 100;

COMMENT ON FUNCTION ptsort_duplicates(pg_catalog.regclass) IS
	'the rows of a table whose keys are equal in a unique btree index';

CREATE FUNCTION ptsort_wrong_rows(
	"table" pg_catalog.regclass,
	OUT "table" pg_catalog.regclass,
	OUT ctid pg_catalog.tid,
	OUT "constraint" pg_catalog.text)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'ptsort_wrong_rows'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE ROWS 100;

COMMENT ON FUNCTION ptsort_wrong_rows(pg_catalog.regclass) IS
	'the rows that break a constraint of their table, partition or domains';

CREATE FUNCTION ptsort_collation_digest("collation" pg_catalog.regcollation)
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'ptsort_collation_digest'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION ptsort_collation_digest(pg_catalog.regcollation) IS
	'a digest of the order of strings; NULL if nothing is proved about it';

-- The digests of the collations at a time when all indexes were in order.
-- pg_dump dumps the rows, so there are no OIDs in them.  The table is small: it
-- needs no index, and the types of the columns need no TOAST table.
CREATE TABLE ptsort_collation_digests (
	schema_name pg_catalog.name NOT NULL,
	collation_name pg_catalog.name NOT NULL,
	provider pg_catalog.name NOT NULL,
	locale pg_catalog.varchar(255) COLLATE pg_catalog."C" NOT NULL,
	encoding pg_catalog.name NOT NULL,
	digest pg_catalog.name,
	version pg_catalog.name,
	remembered pg_catalog.timestamptz NOT NULL,
	seen pg_catalog.name		-- another digest that a check met since
);

COMMENT ON TABLE ptsort_collation_digests IS
	'what ptsort_remember_collations() remembers';

GRANT SELECT ON ptsort_collation_digests TO PUBLIC;
GRANT INSERT, UPDATE, DELETE ON ptsort_collation_digests TO pg_database_owner;

SELECT pg_catalog.pg_extension_config_dump('ptsort_collation_digests', '');

-- The digests of the locales of released C libraries (glibc), in UTF-8.  The
-- tables below belong to the extension, so pg_dump does not dump their rows.
-- contrib/collations made the rows.
CREATE TABLE ptsort_known_digests (
	release pg_catalog.name NOT NULL,
	locale pg_catalog.name NOT NULL,
	digest pg_catalog.name NOT NULL
);

COMMENT ON TABLE ptsort_known_digests IS
	'digests of the locales of released C libraries';

GRANT SELECT ON ptsort_known_digests TO PUBLIC;

-- What changed between these digests: the number of characters that changed
-- their place, and pairs of characters in the order before.  unistr() makes
-- characters of the numbers: the script must be in ASCII.
CREATE TABLE ptsort_known_changes (
	digest_before pg_catalog.name NOT NULL,
	digest_after pg_catalog.name NOT NULL,
	characters pg_catalog.int8 NOT NULL,
	examples pg_catalog.varchar(100) COLLATE pg_catalog."C" NOT NULL
);

COMMENT ON TABLE ptsort_known_changes IS
	'how the orders of released C libraries differ';

GRANT SELECT ON ptsort_known_changes TO PUBLIC;

-- BEGIN of what contrib/collations/known.py makes
INSERT INTO ptsort_known_digests (release, locale, digest)
SELECT r.release, l.locale, k.digest
FROM (VALUES
	('45d8c1df86f7c1760d397bcf45b9db0d', '2.31 2.36 2.41 2.43', 'C'),
	('92f3db496f36789fdb77eca64435c8b8', '2.31 2.36 2.41 2.43',
		'aa_DJ aa_ER aa_ET af_ZA agr_PE ak_GH am_ET anp_IN ar_AE ar_BH ar_DZ ar_EG ar_IN ar_IQ ar_JO ar_KW ar_LB '
		'ar_LY ar_MA ar_OM ar_QA ar_SA ar_SD ar_SS ar_SY ar_TN ar_YE as_IN ayc_PE be_BY@latin bem_ZM bhb_IN bho_IN '
		'bho_NP bi_VU bn_BD bn_IN brx_IN byn_ER ce_RU chr_US de_AT de_BE de_CH de_DE de_IT de_LI de_LU doi_IN dv_MV '
		'el_CY el_GR en_AG en_AU en_BW en_DK en_GB en_HK en_IE en_IL en_IN en_NG en_NZ en_PH en_SC en_SG en_US '
		'en_ZA en_ZM en_ZW eu_ES eu_FR ff_SN fr_BE fr_CH fr_FR fr_LU fy_DE fy_NL ga_IE gd_GB gez_ER gez_ET gu_IN '
		'gv_GB hak_TW he_IL hi_IN hif_FJ hne_IN ht_HT hy_AM ia_FR id_ID it_CH it_IT ka_GE kn_IN kok_IN ks_IN '
		'ks_IN@devanagari kw_GB lb_LU lg_UG li_BE li_NL lij_IT lzh_TW mag_IN mai_IN mai_NP mfe_MU mg_MG mhr_RU '
		'miq_NI mjw_IN mk_MK mn_MN mni_IN mnw_MM ms_MY my_MM nan_TW nds_DE nds_NL ne_NP nhn_MX niu_NU niu_NZ nl_AW '
		'nl_BE nl_NL nr_ZA nso_ZA pa_IN pa_PK pap_AW pap_CW pt_BR pt_PT quz_PE raj_IN ru_RU ru_UA rw_RW sa_IN '
		'sat_IN sd_IN sd_IN@devanagari sgs_LT shn_MM sid_ET sm_WS so_DJ so_ET so_KE so_SO ss_ZA st_ZA sw_KE sw_TZ '
		'ta_IN ta_LK tcy_IN te_IN the_NP ti_ER ti_ET tig_ER tn_ZA to_TO tpi_PG ts_ZA unm_US ur_IN ur_PK ve_ZA wa_BE '
		'wae_CH wal_ET wo_SN xh_ZA yue_HK yuw_PG zh_HK zh_SG zh_TW zu_ZA'),
	('92f3db496f36789fdb77eca64435c8b8', '2.31 2.36', 'aa_ER@saaho'),
	('437646bf75f4e7423d2f4dff728d4fd2', '2.31 2.36 2.41 2.43',
		'an_ES ast_ES ca_AD ca_ES ca_ES@valencia ca_FR ca_IT es_AR es_BO es_CL es_CO es_CR es_CU es_DO es_EC es_ES '
		'es_GT es_HN es_MX es_NI es_PA es_PE es_PR es_PY es_SV es_US es_UY es_VE gl_ES oc_FR'),
	('7079ef8cd73dec0b352bdcc62abd774a', '2.31 2.36 2.41 2.43', 'az_AZ'),
	('1fd6fe8c4b8cc9acb077a82097d6690b', '2.31 2.36 2.41 2.43', 'az_IR fa_IR'),
	('4a316703b77150fd14bcc35fa2157d3f', '2.31 2.36 2.41 2.43', 'be_BY'),
	('98eecd4ade20146c1d3413988d0be5ad', '2.31 2.36 2.41 2.43', 'ber_DZ kab_DZ'),
	('3330b6b1a4ab9c880c7723e0146d284f', '2.31 2.36 2.41 2.43', 'ber_MA'),
	('a6b9071f7b830520c2def42d69bc04ce', '2.31 2.36 2.41 2.43', 'bg_BG'),
	('cd4cc4ecb28d1c3c9384a7be8911c300', '2.31 2.36 2.41 2.43', 'bo_CN bo_IN dz_BT'),
	('af638707c956c90c16d9705c15cb5d5b', '2.31 2.36 2.41 2.43', 'br_FR'),
	('115e437977b85b55cbae08877391e314', '2.31 2.36 2.41 2.43', 'bs_BA hr_HR sr_ME sr_RS sr_RS@latin'),
	('68a099cc0e6828bc37bb617504d50822', '2.36 2.41 2.43', 'ckb_IQ'),
	('da3569015ed7079b0c8b41b5741f7f62', '2.31 2.36 2.41 2.43', 'cmn_TW'),
	('67d9c594f7724a6a82c2aabbc59489c0', '2.41 2.43', 'crh_RU'),
	('93253536524ec5ef259851a969384ae7', '2.31 2.36 2.41 2.43', 'crh_UA tt_RU@iqtelif'),
	('123d0f15d8c8bb790952dbf3f6421b42', '2.31 2.36 2.41 2.43', 'cs_CZ sk_SK'),
	('569a41208e1966ce6a8c60a98798bf5f', '2.31 2.36 2.41 2.43', 'csb_PL'),
	('7c55da7208d5d1f6c0651f9d6643620c', '2.31 2.36', 'cv_RU'),
	('564a4bfd301c1416ac6bc009e94751a0', '2.41 2.43', 'cv_RU'),
	('500dc2202f5afc9051471c210c63e3fe', '2.31 2.36 2.41 2.43', 'cy_GB'),
	('734092c1dc4bb30a1c98a3db04571dff', '2.31 2.36 2.41 2.43', 'da_DK fo_FO kl_GL'),
	('8a2a2785f9c499e766c911d4d674fdcf', '2.31 2.36 2.41 2.43', 'dsb_DE'),
	('14d67d77dccfc7d34c88bbf3d0644219', '2.31 2.36 2.41 2.43', 'en_CA iu_CA'),
	('92f3db496f36789fdb77eca64435c8b8', '2.43', 'en_SE'),
	('76ea62a9ed8e8b505a70f5d8d053a5da', '2.31 2.36 2.41 2.43', 'eo'),
	('3d228e6bb371449eccae5758e6b28154', '2.31 2.36 2.41 2.43', 'et_EE'),
	('a6e476eba9f1e5692c2cd07500f0afd7', '2.31 2.36 2.41 2.43', 'fi_FI'),
	('d1ebeb337a3afc5aa1eb359094d4a116', '2.31 2.36 2.41 2.43', 'fil_PH tl_PH'),
	('66bb7dbbefcb9eaaa7b5407d277e9d04', '2.31 2.36 2.41 2.43', 'fr_CA'),
	('e173be04b26a73b8a44b96d016745aa0', '2.31 2.36 2.41 2.43', 'fur_IT sc_IT'),
	('92f3db496f36789fdb77eca64435c8b8', '2.41 2.43', 'gbm_IN kv_RU scn_IT ssy_ER su_ID tok zgh_MA'),
	('d4fe5753383b18ab25672cd46d653eec', '2.31 2.36 2.41 2.43', 'gez_ER@abegede gez_ET@abegede'),
	('ce21f06026c71d3883d98eefe271102b', '2.31 2.36 2.41 2.43', 'ha_NG'),
	('aab1f576585f600cc466fdddfb18bf2a', '2.31 2.36 2.41 2.43', 'hsb_DE'),
	('33f8889f777fcb045bbcee837325a659', '2.31 2.36 2.41 2.43', 'hu_HU'),
	('e789cccfebc798060abeadaa40e09119', '2.31 2.36 2.41 2.43', 'ig_NG'),
	('c7c0455d04cb62b7e62ac1f1d7021448', '2.31 2.36 2.41 2.43', 'ik_CA'),
	('8ef92e456a8f2c695dfd2e35fb5e0709', '2.31 2.36 2.41 2.43', 'is_IS'),
	('ea8d723d3b96827d593240421409c659', '2.31 2.36 2.41 2.43', 'ja_JP'),
	('70f0a5f8d7162cf9d61a3fd7cf410639', '2.31 2.36 2.41 2.43', 'kk_KZ'),
	('57e9e6d24c72750b2203b4d0f6471c28', '2.31 2.36 2.41 2.43', 'km_KH'),
	('0787dff67ca6aa68d34a285faa064f1c', '2.31', 'ko_KR'),
	('ad7c118c0ec632b28c8e8160910b17db', '2.36 2.41 2.43', 'ko_KR'),
	('9c479a26b5c65e764bc12e9e3856f08d', '2.31 2.36 2.41 2.43', 'ku_TR'),
	('fa94b64fc6580c5e36b3448721bc4db5', '2.31 2.36 2.41 2.43', 'ky_KG'),
	('86246dbc708b67bc17880da4519e3970', '2.31 2.36 2.41 2.43', 'ln_CD'),
	('f1f9c1581a77255f31a9d6874b957e2e', '2.31 2.36 2.41 2.43', 'lo_LA'),
	('526ed4da8a3a1b910bd2399294fe8a2a', '2.31 2.36 2.41 2.43', 'lt_LT'),
	('2ba8efe6867a3c4d50244be4b449b417', '2.41 2.43', 'ltg_LV lv_LV'),
	('45726a5b5d375baca0691331912962a2', '2.31 2.36', 'lv_LV'),
	('c33eb4efe30ab1506a8635e2a3ba3f97', '2.41 2.43', 'mdf_RU'),
	('22450aba1d7bf421eb51ab1bb743593b', '2.31 2.36 2.41 2.43', 'mi_NZ'),
	('76d1670de0f3e9a27f3129e5c4da2557', '2.31 2.36 2.41 2.43', 'ml_IN'),
	('6c33dd5c97d85b53ab460028ae48c8aa', '2.31 2.36 2.41 2.43', 'mr_IN'),
	('7dae29be73762d7a7057609805514e69', '2.31 2.36 2.41 2.43', 'mt_MT'),
	('8e1750f2ec319dbdf061c5881935b023', '2.31 2.36 2.41 2.43', 'nan_TW@latin'),
	('132558838b90cb124e181ab46f007620', '2.31 2.36 2.41 2.43', 'nb_NO nn_NO'),
	('62da86faf55d0df16568cd932a19fc5b', '2.31 2.36 2.41 2.43', 'om_ET om_KE'),
	('5716a5953504017cd454512c2460adf6', '2.31', 'or_IN'),
	('a8294d47f56a66232d33b1107964be8a', '2.36 2.41 2.43', 'or_IN'),
	('385ad8a0fd9517ecebc0c2e826470a51', '2.31 2.36 2.41 2.43', 'os_RU'),
	('139a51f136940a378853d718bbfa9fa0', '2.31 2.36 2.41 2.43', 'pl_PL'),
	('0184a10c7a74096fb03cf1cc4b818818', '2.31 2.36 2.41 2.43', 'ps_AF'),
	('92f3db496f36789fdb77eca64435c8b8', '2.36 2.41 2.43', 'rif_MA syr'),
	('bf934ed59de5e2b2c44eca933c2812a4', '2.31 2.36 2.41 2.43', 'ro_RO'),
	('49c86f3a6d0264c8b5bb102a39bb434b', '2.31 2.36 2.41 2.43', 'sah_RU'),
	('cf89a878bcf629a8bf20b1bf0664397d', '2.31 2.36 2.41 2.43', 'se_NO'),
	('55e1d33845c273f55c2437f3296835bf', '2.31 2.36 2.41 2.43', 'shs_CA'),
	('2bba8309d28561b2baa6e9f7fba70133', '2.31 2.36 2.41 2.43', 'si_LK'),
	('205bdd76c4413d9df68bc5485aa625ee', '2.31 2.36 2.41 2.43', 'sl_SI'),
	('4bbbd4484a152b378e3a71257a11160e', '2.31 2.36 2.41 2.43', 'sq_AL sq_MK'),
	('8598ce0933de8d890bc91079ad386a14', '2.31', 'sv_FI sv_SE'),
	('f4fedc8e77bd67ab66d5b52f0fd115e8', '2.36 2.41 2.43', 'sv_FI sv_SE'),
	('7f5d7102627e144b32e884a41062ac0a', '2.31 2.36 2.41 2.43', 'szl_PL'),
	('c133ac31f617631a7bc46d6ae9899512', '2.31 2.36 2.41 2.43', 'tg_TJ'),
	('ac98bd099245ecaa3259def567e9e086', '2.31 2.36', 'th_TH'),
	('49dfa6986095c2eff672a9b63189671d', '2.41 2.43', 'th_TH'),
	('465f3a0dd720b2701c3435f19143a5b1', '2.31 2.36 2.41 2.43', 'tk_TM'),
	('795bc1126cd9484e77f02683a5616f85', '2.31 2.36 2.41 2.43', 'tr_CY tr_TR'),
	('c966228e95e61e604c4ed300aa31a868', '2.31 2.36 2.41 2.43', 'tt_RU'),
	('196eb7dfe7adaccdf8a0ef11921068b0', '2.31 2.36 2.41 2.43', 'ug_CN'),
	('1890677f7b4a4f3cb49ab652ab4b4150', '2.31 2.36 2.41 2.43', 'uk_UA'),
	('cb16a1842da91307e90170b0ec336721', '2.31 2.36 2.41 2.43', 'uz_UZ uz_UZ@cyrillic'),
	('0e2c885a87ab141194f2d403bf1b6028', '2.31 2.36 2.41 2.43', 'vi_VN'),
	('de35c7b6b589e419301caf9930b5f880', '2.31 2.36 2.41 2.43', 'yi_US'),
	('6234c26540e1467ff63a7ee8d7a22a9f', '2.31 2.36 2.41 2.43', 'yo_NG'),
	('609ec2566d1caa2ce0211df61374f102', '2.31 2.36 2.41 2.43', 'zh_CN')
	) AS k (digest, releases, locales),
	pg_catalog.string_to_table(k.releases, ' ') AS r (release),
	pg_catalog.string_to_table(k.locales, ' ') AS l (locale);

INSERT INTO ptsort_known_changes (digest_before, digest_after, characters, examples) VALUES
	('0787dff67ca6aa68d34a285faa064f1c', 'ad7c118c0ec632b28c8e8160910b17db',
		1, '\u4E00 < \uD7A3'),
	('ad7c118c0ec632b28c8e8160910b17db', '0787dff67ca6aa68d34a285faa064f1c',
		1, '\uD7A3 < \u4E00'),
	('5716a5953504017cd454512c2460adf6', 'a8294d47f56a66232d33b1107964be8a',
		50554, '\u00AA < a, \u00BC < 0'),
	('a8294d47f56a66232d33b1107964be8a', '5716a5953504017cd454512c2460adf6',
		50554, 'a < \u00AA, 0 < \u00BC'),
	('8598ce0933de8d890bc91079ad386a14', 'f4fedc8e77bd67ab66d5b52f0fd115e8',
		2, 'w < \u028B'),
	('f4fedc8e77bd67ab66d5b52f0fd115e8', '8598ce0933de8d890bc91079ad386a14',
		2, '\u028B < w'),
	('7c55da7208d5d1f6c0651f9d6643620c', '564a4bfd301c1416ac6bc009e94751a0',
		20, '\u00E2 < \u0103, \u00EA < \u0115, \u00DF < \u015F'),
	('564a4bfd301c1416ac6bc009e94751a0', '7c55da7208d5d1f6c0651f9d6643620c',
		20, '\u0103 < \u00E2, \u0115 < \u00EA, \u015F < \u00DF'),
	('45726a5b5d375baca0691331912962a2', '2ba8efe6867a3c4d50244be4b449b417',
		12, '\u0101 < \u00E6, \u012B < y, \u014D < \u0153'),
	('2ba8efe6867a3c4d50244be4b449b417', '45726a5b5d375baca0691331912962a2',
		12, '\u00E6 < \u0101, y < \u012B, \u0153 < \u014D'),
	('ac98bd099245ecaa3259def567e9e086', '49dfa6986095c2eff672a9b63189671d',
		50584, 'A < a, B < b, C < c'),
	('49dfa6986095c2eff672a9b63189671d', 'ac98bd099245ecaa3259def567e9e086',
		50584, 'a < A, b < B, c < C');
-- END

-- The script runs in a schema that may belong to another user, who may have
-- created functions and operators there.  The bodies are parsed here, so the
-- search_path of a call does not matter.  They name each function and operator
-- with its schema, and call the functions of this extension with arguments of
-- exactly their types: no other function matches better.

-- What depends on the order of a collation: btree and other indexes, and tables
-- whose partition bounds or CHECK constraints compare text.  "what" is
--	order		the entries of an index are in the collation's order
--	expression	an expression or the predicate of an index compares text, or
--			calls a function for text: entries may be missing
--	rows		partition bounds or CHECK constraints of a table do so
-- Expressions of the catalogs name the collation of each operator and function
-- (inputcollid).  What initdb makes has OIDs below 16384, and uses only "C".
-- Temporary tables do not outlive the library that a session uses.
CREATE VIEW ptsort_collation_uses AS
WITH RECURSIVE indexes AS (
	SELECT i.indexrelid AS relation, i.indrelid, i.indkey, i.indcollation,
		i.indclass, a.amname,
		pg_catalog.concat(i.indexprs::pg_catalog.text,
			i.indpred::pg_catalog.text) AS tree
	FROM pg_catalog.pg_index i
	JOIN pg_catalog.pg_class c
		ON c.oid OPERATOR(pg_catalog.=) i.indexrelid
	JOIN pg_catalog.pg_am a ON a.oid OPERATOR(pg_catalog.=) c.relam
	WHERE i.indexrelid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
		AND i.indisvalid
		AND c.relkind OPERATOR(pg_catalog.=) 'i'::pg_catalog."char"
		AND c.relpersistence OPERATOR(pg_catalog.<>) 't'::pg_catalog."char"
), checks AS (
	-- Expressions that decide whether a table may hold a row: of partition keys,
	-- constraints, domains, and of virtual columns in these (since 18)
	SELECT p.partrelid AS relation, 0::pg_catalog.oid AS domain,
		p.partexprs::pg_catalog.text AS tree, true AS is_bound
	FROM pg_catalog.pg_partitioned_table p
	UNION ALL
	SELECT s.conrelid, s.contypid, s.conbin::pg_catalog.text, false
	FROM pg_catalog.pg_constraint s
	WHERE s.contype OPERATOR(pg_catalog.=) 'c'::pg_catalog."char"
		AND s.convalidated
		AND s.oid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
	UNION ALL
	SELECT d.adrelid, 0::pg_catalog.oid, d.adbin::pg_catalog.text, false
	FROM pg_catalog.pg_attrdef d
	JOIN pg_catalog.pg_attribute a
		ON a.attrelid OPERATOR(pg_catalog.=) d.adrelid
		AND a.attnum OPERATOR(pg_catalog.=) d.adnum
	WHERE a.attgenerated OPERATOR(pg_catalog.=) 'v'::pg_catalog."char"
), types AS (
	SELECT DISTINCT m.found[1]::pg_catalog.oid AS type
	FROM (
		SELECT i.tree FROM indexes i
		UNION ALL
		SELECT c.tree FROM checks c) t
	CROSS JOIN LATERAL pg_catalog.regexp_matches(t.tree,
		':[a-z_]*type(?:[iI]d)? (\d+)'::pg_catalog.text,
		'g'::pg_catalog.text) AS m (found)
), parts AS (
	-- The types inside of the types of columns and of expressions, and their
	-- collations.  "direct": a domain and what it is made of, not an element or
	-- attribute
	SELECT t.type, t.type AS part, 0::pg_catalog.oid AS used, true AS direct
	FROM (
		SELECT a.atttypid
		FROM pg_catalog.pg_attribute a
		WHERE a.attrelid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
			AND a.attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2
			AND NOT a.attisdropped
		UNION
		SELECT t.type FROM types t) t (type)
	UNION
	SELECT p.type, e.part, e.used, p.direct AND e.direct
	FROM parts p
	CROSS JOIN LATERAL (
		SELECT t.typbasetype, 0::pg_catalog.oid, true
		FROM pg_catalog.pg_type t
		WHERE t.oid OPERATOR(pg_catalog.=) p.part
			AND t.typtype OPERATOR(pg_catalog.=) 'd'::pg_catalog."char"
		UNION ALL
		SELECT t.typelem, 0::pg_catalog.oid, false
		FROM pg_catalog.pg_type t
		WHERE t.oid OPERATOR(pg_catalog.=) p.part
			AND t.typcategory OPERATOR(pg_catalog.=) 'A'::pg_catalog."char"
		UNION ALL
		SELECT a.atttypid, a.attcollation, false
		FROM pg_catalog.pg_type t
		JOIN pg_catalog.pg_attribute a
			ON a.attrelid OPERATOR(pg_catalog.=) t.typrelid
		WHERE t.oid OPERATOR(pg_catalog.=) p.part
			AND t.typtype OPERATOR(pg_catalog.=) 'c'::pg_catalog."char"
			AND a.attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2
			AND NOT a.attisdropped
		UNION ALL
		SELECT r.rngsubtype, r.rngcollation, false
		FROM pg_catalog.pg_range r
		WHERE r.rngtypid OPERATOR(pg_catalog.=) p.part
		UNION ALL
		SELECT r.rngtypid, 0::pg_catalog.oid, false
		FROM pg_catalog.pg_range r
		WHERE r.rngmultitypid OPERATOR(pg_catalog.=) p.part
		UNION ALL
		-- jsonb compares strings by the database's collation
		SELECT 0::pg_catalog.oid,
			'pg_catalog."default"'::pg_catalog.regcollation::pg_catalog.oid,
			false
		WHERE p.part OPERATOR(pg_catalog.=)
			'pg_catalog.jsonb'::pg_catalog.regtype::pg_catalog.oid
	) e (part, used, direct)
), inside AS (
	SELECT DISTINCT p.type, p.used
	FROM parts p
	WHERE p.used OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
), tables AS (
	-- The tables that rows may not belong to: of partitions, the topmost
	SELECT COALESCE(pg_catalog.pg_partition_root(
			t.relation::pg_catalog.regclass)::pg_catalog.oid, t.relation)
			AS relation, t.tree, t.is_bound
	FROM (
		SELECT c.relation, c.tree, c.is_bound
		FROM checks c
		WHERE c.domain OPERATOR(pg_catalog.=) 0::pg_catalog.oid
		UNION ALL
		SELECT a.attrelid, c.tree, false
		FROM checks c
		JOIN parts p ON p.part OPERATOR(pg_catalog.=) c.domain AND p.direct
		JOIN pg_catalog.pg_attribute a
			ON a.atttypid OPERATOR(pg_catalog.=) p.type
			AND a.attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2
			AND NOT a.attisdropped
		WHERE c.domain OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
	) t
	JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.relation
	WHERE c.relkind OPERATOR(pg_catalog.=)
			ANY (ARRAY['r', 'p']::pg_catalog."char"[])
		AND c.relpersistence OPERATOR(pg_catalog.<>) 't'::pg_catalog."char"
), trees AS (
	SELECT i.relation, 'expression' AS what, i.tree, false AS is_bound
	FROM indexes i
	UNION ALL
	SELECT t.relation, 'rows', t.tree, t.is_bound FROM tables t
), uses (relation, used, what, by_equality) AS (
	-- Keys of indexes, except in operator classes that compare bytes, and except
	-- GIN's of jsonb, and GIN's and pg_trgm's of parts of strings
	SELECT i.relation, u.used, 'order',
		i.amname OPERATOR(pg_catalog.=) 'hash'::pg_catalog.name
	FROM indexes i
	CROSS JOIN LATERAL ROWS FROM (
		pg_catalog.unnest(i.indcollation::pg_catalog.oid[]),
		pg_catalog.unnest(i.indclass::pg_catalog.oid[]),
		pg_catalog.unnest(i.indkey::pg_catalog.int2[]))
		WITH ORDINALITY AS k (used, class, column_number, n)
	JOIN pg_catalog.pg_opclass o ON o.oid OPERATOR(pg_catalog.=) k.class
	JOIN pg_catalog.pg_opfamily f
		ON f.oid OPERATOR(pg_catalog.=) o.opcfamily
	LEFT JOIN pg_catalog.pg_type s
		ON s.oid OPERATOR(pg_catalog.=) o.opckeytype
	JOIN pg_catalog.pg_attribute a
		ON a.attrelid OPERATOR(pg_catalog.=) i.relation
		AND a.attnum::pg_catalog.int8 OPERATOR(pg_catalog.=) k.n
	LEFT JOIN pg_catalog.pg_attribute b		-- GiST may store another type
		ON b.attrelid OPERATOR(pg_catalog.=) i.indrelid
		AND b.attnum OPERATOR(pg_catalog.=) k.column_number
	CROSS JOIN LATERAL (
		SELECT k.used
		WHERE k.used OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
		UNION ALL
		SELECT t.used FROM inside t
		WHERE t.type OPERATOR(pg_catalog.=)
			ANY (ARRAY[a.atttypid, b.atttypid])
	) u (used)
	WHERE NOT (f.opfname OPERATOR(pg_catalog.=) ANY (ARRAY['text_pattern_ops',
				'bpchar_pattern_ops', 'record_image_ops']::pg_catalog.name[])
			AND f.opfnamespace OPERATOR(pg_catalog.=)
				'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid)
		AND o.opcname OPERATOR(pg_catalog.<>) 'gist_trgm_ops'::pg_catalog.name
		AND NOT (i.amname OPERATOR(pg_catalog.=) 'spgist'::pg_catalog.name
			AND f.opfname OPERATOR(pg_catalog.=) 'text_ops'::pg_catalog.name)
		AND NOT (i.amname OPERATOR(pg_catalog.=) 'gin'::pg_catalog.name
			AND (f.opfname OPERATOR(pg_catalog.=)
				ANY (ARRAY['jsonb_ops', 'jsonb_path_ops']::pg_catalog.name[])
			OR (s.typtype OPERATOR(pg_catalog.<>) 'p'::pg_catalog."char"
				AND s.typcollation OPERATOR(pg_catalog.=) 0::pg_catalog.oid)
				IS TRUE))
	UNION ALL
	-- Expressions.  texteq, textne, bpchareq and bpcharne compare bytes.
	SELECT t.relation, s.used::pg_catalog.oid, t.what,
		m.found[1] OPERATOR(pg_catalog.=)
			ANY (ARRAY['67', '157', '1048', '1053']::pg_catalog.text[])
			IS TRUE
	FROM trees t
	CROSS JOIN LATERAL pg_catalog.regexp_matches(t.tree,
		'(?::opfuncid (\d+)[^{}()]*)?:inputcollids? (?:\(o )?(\d+(?: \d+)*)'::pg_catalog.text,
		'g'::pg_catalog.text) AS m (found)
	CROSS JOIN LATERAL pg_catalog.string_to_table(m.found[2], ' ') AS s (used)
	UNION ALL
	-- jsonb_lt, jsonb_gt, jsonb_le, jsonb_ge and jsonb_cmp
	SELECT t.relation,
		'pg_catalog."default"'::pg_catalog.regcollation::pg_catalog.oid,
		t.what, false
	FROM trees t
	WHERE t.tree OPERATOR(pg_catalog.~)
		':(op)?funcid (4039|404[0124]) '::pg_catalog.text
	UNION ALL
	-- Composite types, ranges, arrays and their like: expressions do not show what
	-- their operators compare.  Of jsonb, comparisons without a function count.
	SELECT t.relation, i.used, t.what, false
	FROM trees t
	CROSS JOIN LATERAL pg_catalog.regexp_matches(t.tree,
		':[a-z_]*type(?:[iI]d)? (\d+)'::pg_catalog.text,
		'g'::pg_catalog.text) AS m (found)
	JOIN inside i
		ON i.type OPERATOR(pg_catalog.=) m.found[1]::pg_catalog.oid
	WHERE t.is_bound
		OR i.type OPERATOR(pg_catalog.<>)
			'pg_catalog.jsonb'::pg_catalog.regtype::pg_catalog.oid
		OR t.tree OPERATOR(pg_catalog.~)
			'{(ROWCOMPARE|MINMAX)'::pg_catalog.text
	UNION ALL
	SELECT COALESCE(pg_catalog.pg_partition_root(
			p.partrelid::pg_catalog.regclass)::pg_catalog.oid, p.partrelid),
		i.used, 'rows', false
	FROM pg_catalog.pg_partitioned_table p
	JOIN pg_catalog.pg_attribute a
		ON a.attrelid OPERATOR(pg_catalog.=) p.partrelid
		AND a.attnum OPERATOR(pg_catalog.=) ANY (p.partattrs::pg_catalog.int2[])
	JOIN inside i ON i.type OPERATOR(pg_catalog.=) a.atttypid
	UNION ALL
	-- Bounds of partitions; partitions by list and hash compare equality.
	SELECT COALESCE(pg_catalog.pg_partition_root(
			p.partrelid::pg_catalog.regclass)::pg_catalog.oid, p.partrelid),
		k.used, 'rows',
		p.partstrat OPERATOR(pg_catalog.<>) 'r'::pg_catalog."char"
	FROM pg_catalog.pg_partitioned_table p
	CROSS JOIN LATERAL pg_catalog.unnest(p.partcollation) AS k (used)
)
SELECT DISTINCT u.relation, c.oid AS "collation", u.what
FROM uses u
JOIN pg_catalog.pg_collation c ON c.oid OPERATOR(pg_catalog.=) u.used
WHERE NOT (u.by_equality AND c.collisdeterministic);

COMMENT ON VIEW ptsort_collation_uses IS
	'the indexes and tables that depend on the order of a collation';

GRANT SELECT ON ptsort_collation_uses TO PUBLIC;

-- The bodies of the functions below name no column of the catalogs that only
-- some versions of the server have.
CREATE FUNCTION ptsort_collations(
	OUT "collation" pg_catalog.regcollation,
	OUT provider pg_catalog.text,
	OUT locale pg_catalog.text,
	OUT version_recorded pg_catalog.text,
	OUT version_now pg_catalog.text,
	OUT digest_now pg_catalog.text,
	OUT digest_remembered pg_catalog.text,
	OUT digest_known pg_catalog.text,
	OUT verdict pg_catalog.text,
	OUT reason pg_catalog.text,
	OUT changed_characters pg_catalog.int8,
	OUT examples pg_catalog.text[],
	OUT indexes pg_catalog.int8)
RETURNS SETOF pg_catalog.record
LANGUAGE SQL STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
	WITH uses AS (
		SELECT u."collation" AS used,
			CASE WHEN u.what OPERATOR(pg_catalog.<>) 'rows'
				THEN u.relation END AS index
		FROM ptsort_collation_uses u
		UNION ALL
		-- The server warns of these, too.
		SELECT a.attcollation, NULL
		FROM pg_catalog.pg_attribute a
		WHERE a.attrelid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
			AND a.attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2
			AND NOT a.attisdropped
		UNION ALL
		SELECT 'pg_catalog."default"'::pg_catalog.regcollation::pg_catalog.oid,
			NULL
	), used AS (
		SELECT u.used, pg_catalog.count(DISTINCT u.index) AS indexes
		FROM uses u GROUP BY u.used
	), described AS (
		SELECT c.oid, n.nspname, c.collname, u.indexes,
			CASE WHEN used_default.it THEN d.datlocprovider
				ELSE c.collprovider END AS provider,
			CASE WHEN used_default.it THEN pg_catalog.to_jsonb(d)
				ELSE pg_catalog.to_jsonb(c) END AS "row",
			CASE WHEN used_default.it THEN d.datcollversion
				ELSE c.collversion END AS recorded,
			CASE WHEN used_default.it
				THEN pg_catalog.pg_database_collation_actual_version(d.oid)
				ELSE pg_catalog.pg_collation_actual_version(c.oid) END AS now
		FROM used u
		JOIN pg_catalog.pg_collation c
			ON c.oid OPERATOR(pg_catalog.=) u.used
		JOIN pg_catalog.pg_namespace n
			ON n.oid OPERATOR(pg_catalog.=) c.collnamespace
		JOIN pg_catalog.pg_database d
			ON d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
		CROSS JOIN LATERAL (
			SELECT c.collprovider OPERATOR(pg_catalog.=)
				'd'::pg_catalog."char" AS it) used_default
	), digests AS MATERIALIZED (
		SELECT s.*,
			CASE WHEN s.provider OPERATOR(pg_catalog.=) 'c'::pg_catalog."char"
					THEN 'libc'
				WHEN s.provider OPERATOR(pg_catalog.=) 'i'::pg_catalog."char"
					THEN 'icu'
				ELSE 'builtin' END AS provider_name,
			COALESCE(
				CASE WHEN s.provider OPERATOR(pg_catalog.=)
						'c'::pg_catalog."char"
					THEN COALESCE(
						s."row" OPERATOR(pg_catalog.->>) 'collcollate',
						s."row" OPERATOR(pg_catalog.->>) 'datcollate')
					ELSE COALESCE(
						s."row" OPERATOR(pg_catalog.->>) 'colllocale',
						s."row" OPERATOR(pg_catalog.->>) 'colliculocale',
						s."row" OPERATOR(pg_catalog.->>) 'datlocale',
						s."row" OPERATOR(pg_catalog.->>) 'daticulocale')
				END, '') AS locale,
			ptsort_collation_digest(s.oid::pg_catalog.regcollation) AS digest
		FROM described s
	), releases AS (
		-- The digest of "C" tells whether digests have the library's format.
		SELECT k.release, k.locale, k.digest
		FROM ptsort_known_digests k
		JOIN ptsort_known_digests c
			ON c.release OPERATOR(pg_catalog.=) k.release
			AND c.locale OPERATOR(pg_catalog.=) 'C'
			AND c.digest OPERATOR(pg_catalog.=)
				ptsort_collation_digest('pg_catalog."C"'::pg_catalog.regcollation)
		WHERE pg_catalog.getdatabaseencoding() OPERATOR(pg_catalog.=) 'UTF8'
	)
	SELECT s.oid::pg_catalog.regcollation, s.provider_name, s.locale,
		s.recorded, s.now, s.digest, r.digest, k.digest, v.verdict, v.reason,
		d.characters,
		pg_catalog.string_to_array(
			pg_catalog.unistr(d.examples::pg_catalog.text), ', '),
		s.indexes
	FROM digests s
	LEFT JOIN LATERAL (
		SELECT m.digest::pg_catalog.text, m.seen::pg_catalog.text
		FROM ptsort_collation_digests m
		WHERE m.schema_name OPERATOR(pg_catalog.=) s.nspname
			AND m.collation_name OPERATOR(pg_catalog.=) s.collname
			AND m.provider OPERATOR(pg_catalog.=) s.provider_name
			AND m.locale::pg_catalog.text OPERATOR(pg_catalog.=) s.locale
			AND m.encoding OPERATOR(pg_catalog.=)
				pg_catalog.getdatabaseencoding()
		ORDER BY m.remembered DESC LIMIT 1) r ON true
	-- Another digest than that of the present release means that the machine's
	-- locale is not the release's.  Then it may never have been.
	LEFT JOIN LATERAL (
		SELECT o.digest::pg_catalog.text
		FROM releases o
		LEFT JOIN releases n
			ON n.locale OPERATOR(pg_catalog.=) o.locale
			AND n.release OPERATOR(pg_catalog.=) s.now
		WHERE s.provider OPERATOR(pg_catalog.=) 'c'::pg_catalog."char"
			AND o.release OPERATOR(pg_catalog.=) s.recorded
			AND o.locale OPERATOR(pg_catalog.=)
				pg_catalog.regexp_replace(s.locale, '\.[^@]*', '')
			AND (n.digest OPERATOR(pg_catalog.=) s.digest) IS NOT FALSE
		) k ON true
	CROSS JOIN LATERAL (
		SELECT COALESCE(r.digest, k.digest) AS digest) b
	LEFT JOIN ptsort_known_changes d
		ON d.digest_before OPERATOR(pg_catalog.=) b.digest
		AND d.digest_after OPERATOR(pg_catalog.=) s.digest
	CROSS JOIN LATERAL (
		SELECT CASE
			WHEN s.provider_name OPERATOR(pg_catalog.=) 'builtin'
				OR (s.provider_name OPERATOR(pg_catalog.=) 'libc'
					AND s.locale OPERATOR(pg_catalog.=)
						ANY (ARRAY['C', 'POSIX']::pg_catalog.text[]))
				THEN ARRAY['same order', 'this collation always orders strings by their bytes']
			WHEN s.digest IS NULL
				THEN ARRAY['unknown', 'ptsort has no digest of this collation']
			WHEN r.digest OPERATOR(pg_catalog.=) s.digest
				AND r.seen OPERATOR(pg_catalog.<>) s.digest
				THEN ARRAY['unknown', 'the digest is the one that ptsort remembers, but a check met another order since']
			WHEN r.digest OPERATOR(pg_catalog.=) s.digest
				THEN ARRAY['same order', 'the digest is the one that ptsort remembers']
			-- Another version of ICU's collation may have the same order.
			WHEN r.digest IS NOT NULL
				AND s.provider_name OPERATOR(pg_catalog.=) 'icu'
				THEN ARRAY['unknown', 'ICU states another version than when ptsort remembered the digest']
			WHEN r.digest IS NOT NULL
				THEN ARRAY['changed', 'the digest is not the one that ptsort remembers']
			WHEN k.digest OPERATOR(pg_catalog.<>) s.digest
				THEN ARRAY['changed', 'the recorded release has another order']
			WHEN s.recorded IS NULL
				THEN ARRAY['unknown', 'ptsort remembers no digest, and the server records no version']
			-- initdb, pg_upgrade and REFRESH record the version of their own time,
			-- and CREATE DATABASE does so for pg_upgrade from 14 and older.
			ELSE ARRAY['unknown', 'ptsort remembers no digest, and the indexes may be older than the recorded version']
			END) c (answer)
	CROSS JOIN LATERAL (
		SELECT c.answer[1], c.answer[2]) v (verdict, reason)
	ORDER BY s.nspname, s.collname;
END;

COMMENT ON FUNCTION ptsort_collations() IS
	'the collations that a database uses, and whether their order changed';

-- The last check of each index and table that depends on the order of a
-- collation.  "orders" is a digest of the orders at that time, and of the
-- partitions.  The row counts as long as the server runs: an order changes only
-- with a new start.  Another file means that somebody rebuilt the index since.
CREATE TABLE ptsort_order_checks (
	relation pg_catalog.oid NOT NULL,
	relation_name pg_catalog.name NOT NULL,
	"table" pg_catalog.oid,
	orders pg_catalog.name NOT NULL,
	is_sound pg_catalog.bool NOT NULL,
	file pg_catalog.oid,
	tablespace pg_catalog.oid NOT NULL,
	server_start pg_catalog.timestamptz NOT NULL,
	checked pg_catalog.timestamptz NOT NULL
);

COMMENT ON TABLE ptsort_order_checks IS
	'the indexes and tables that ptsort_check_all() checked after an order changed';

GRANT SELECT ON ptsort_order_checks TO PUBLIC;
GRANT INSERT, DELETE ON ptsort_order_checks TO pg_database_owner;

-- "is_proved" is true if the index or table is right in the present orders:
-- ptsort checked it in these orders, and found nothing.  An index that ptsort
-- cannot check must have another file, in the same tablespace: SET TABLESPACE
-- copies a file.  REINDEX CONCURRENTLY also gives it another OID.  Two sessions may
-- check an index; the last check counts.
-- "needs_rows" is true if the present order alone does not prove the index: it has
-- an expression or predicate, or its access method stores not the values but what
-- functions of the operator class make of them.  GIN also has one entry for values
-- that were equal in a nondeterministic collation.
CREATE VIEW ptsort_order_proofs AS
SELECT r.relation, c.relkind, c.relpersistence,
	r.has_expression OR a.amname OPERATOR(pg_catalog.=)
		ANY (ARRAY['gist', 'gin']::pg_catalog.name[]) AS needs_rows,
	r.is_doubtful, o.orders,
	((k.orders::pg_catalog.text OPERATOR(pg_catalog.=) o.orders AND k.is_sound)
		OR (f.orders::pg_catalog.text OPERATOR(pg_catalog.=) o.orders
			AND a.amname OPERATOR(pg_catalog.<>)
				ALL (ARRAY['btree', 'gist', 'gin']::pg_catalog.name[])
			AND f.tablespace OPERATOR(pg_catalog.=) c.reltablespace
			AND f.file OPERATOR(pg_catalog.<>) pg_catalog.pg_relation_filenode(
				r.relation::pg_catalog.regclass))) IS TRUE AS is_proved
FROM (
	SELECT u.relation,
		pg_catalog.bool_or(u.what OPERATOR(pg_catalog.=) 'expression')
			AS has_expression,
		pg_catalog.bool_or(s.verdict OPERATOR(pg_catalog.<>) 'same order')
			AS is_doubtful,
		CASE WHEN pg_catalog.bool_and(COALESCE(s.digest_now, s.version_now)
				IS NOT NULL)
			THEN pg_catalog.string_agg(
				COALESCE(s.digest_now, s.version_now), ' '
				ORDER BY COALESCE(s.digest_now, s.version_now) COLLATE pg_catalog."C")
			END AS orders
	FROM ptsort_collation_uses u
	JOIN ptsort_collations() s
		ON s."collation"::pg_catalog.oid OPERATOR(pg_catalog.=) u."collation"
	GROUP BY u.relation) r
JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) r.relation
LEFT JOIN pg_catalog.pg_am a ON a.oid OPERATOR(pg_catalog.=) c.relam
LEFT JOIN (
	SELECT pg_catalog.pg_partition_root(
			h.inhrelid::pg_catalog.regclass)::pg_catalog.oid AS root,
		pg_catalog.string_agg(h.inhrelid::pg_catalog.text, ' '
			ORDER BY h.inhrelid) AS partitions
	FROM pg_catalog.pg_inherits h GROUP BY 1) p
	ON p.root OPERATOR(pg_catalog.=) r.relation
CROSS JOIN LATERAL (
	SELECT pg_catalog.md5(r.orders OPERATOR(pg_catalog.||)
		COALESCE(p.partitions, ''))) o (orders)
LEFT JOIN (
	SELECT DISTINCT ON (l.relation) l.*
	FROM ptsort_order_checks l
	WHERE l.server_start OPERATOR(pg_catalog.=)
		pg_catalog.pg_postmaster_start_time()
	ORDER BY l.relation, l.checked DESC) k
	ON k.relation OPERATOR(pg_catalog.=) r.relation
LEFT JOIN pg_catalog.pg_index i
	ON i.indexrelid OPERATOR(pg_catalog.=) r.relation
LEFT JOIN (
	SELECT DISTINCT ON (l."table", l.relation_name) l.*
	FROM ptsort_order_checks l
	WHERE l.server_start OPERATOR(pg_catalog.=)
		pg_catalog.pg_postmaster_start_time()
	ORDER BY l."table", l.relation_name, l.checked DESC) f
	ON f."table" OPERATOR(pg_catalog.=) i.indrelid
	AND f.relation_name OPERATOR(pg_catalog.=) c.relname;

COMMENT ON VIEW ptsort_order_proofs IS
	'which indexes and tables are right in the present orders of their collations';

GRANT SELECT ON ptsort_order_proofs TO PUBLIC;

-- ptsort_check_all() calls this function.  Only roles that may write to the table
-- may call it.  An element without orders is not recorded.
CREATE FUNCTION ptsort_record_checks(
	relations pg_catalog.oid[],
	orders pg_catalog.text[],
	are_sound pg_catalog.bool[])
RETURNS pg_catalog.void
LANGUAGE sql VOLATILE STRICT
BEGIN ATOMIC
	DELETE FROM ptsort_order_checks k
	WHERE k.relation OPERATOR(pg_catalog.=) ANY (ptsort_record_checks.relations)
		OR k.server_start OPERATOR(pg_catalog.<>)
			pg_catalog.pg_postmaster_start_time();
	INSERT INTO ptsort_order_checks (relation, relation_name, "table", orders,
		is_sound, file, tablespace, server_start, checked)
	SELECT c.oid, c.relname, i.indrelid, r.orders, r.is_sound,
		pg_catalog.pg_relation_filenode(c.oid::pg_catalog.regclass),
		c.reltablespace, pg_catalog.pg_postmaster_start_time(),
		pg_catalog.clock_timestamp()
	FROM ROWS FROM (
		pg_catalog.unnest(ptsort_record_checks.relations),
		pg_catalog.unnest(ptsort_record_checks.orders),
		pg_catalog.unnest(ptsort_record_checks.are_sound))
		AS r (relation, orders, is_sound)
	JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) r.relation
	LEFT JOIN pg_catalog.pg_index i
		ON i.indexrelid OPERATOR(pg_catalog.=) c.oid
	WHERE r.orders IS NOT NULL;
	-- Indexes may be rebuilt in this order from now on.
	UPDATE ptsort_collation_digests m
	SET seen = s.digest_now
	FROM ptsort_collations() s
	JOIN pg_catalog.pg_collation c
		ON c.oid OPERATOR(pg_catalog.=) s."collation"::pg_catalog.oid
	JOIN pg_catalog.pg_namespace n
		ON n.oid OPERATOR(pg_catalog.=) c.collnamespace
	WHERE m.schema_name OPERATOR(pg_catalog.=) n.nspname
		AND m.collation_name OPERATOR(pg_catalog.=) c.collname
		AND m.provider OPERATOR(pg_catalog.=) s.provider
		AND m.locale::pg_catalog.text OPERATOR(pg_catalog.=) s.locale
		AND m.encoding OPERATOR(pg_catalog.=) pg_catalog.getdatabaseencoding()
		AND m.digest::pg_catalog.text OPERATOR(pg_catalog.<>) s.digest_now
		AND (m.seen::pg_catalog.text OPERATOR(pg_catalog.=) s.digest_now)
			IS NOT TRUE;
END;

COMMENT ON FUNCTION
	ptsort_record_checks(pg_catalog.oid[], pg_catalog.text[], pg_catalog.bool[])
	IS 'records what ptsort_check_all() checked';

-- "sections" of the result: indexes that ptsort checks, tables with rows that
-- may be wrong, indexes that it cannot check, and what it left out.
CREATE FUNCTION ptsort_check_all(
	heap pg_catalog.bool DEFAULT false,
	changed_collations pg_catalog.bool DEFAULT false,
	workers pg_catalog.int4 DEFAULT NULL,
	"full" pg_catalog.bool DEFAULT false)
RETURNS TABLE (
	index pg_catalog.regclass,
	"table" pg_catalog.regclass,
	problems pg_catalog.int8,
	details pg_catalog.text[],
	elapsed_ms pg_catalog.float8,
	repair pg_catalog.text,
	wrong_rows pg_catalog.text)
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 100
BEGIN ATOMIC
	WITH own AS MATERIALIZED (
		SELECT pg_catalog.quote_ident(n.nspname::pg_catalog.text) AS name,
			pg_catalog.current_setting('transaction_read_only')
				OPERATOR(pg_catalog.=) 'off'
			AND pg_catalog.has_table_privilege(
				'ptsort_order_checks'::pg_catalog.regclass::pg_catalog.oid,
				'INSERT') AS records
		FROM pg_catalog.pg_extension e
		JOIN pg_catalog.pg_namespace n
			ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
		WHERE e.extname OPERATOR(pg_catalog.=) 'ptsort'::pg_catalog.name
	), proofs AS MATERIALIZED (
		SELECT * FROM ptsort_order_proofs
	), indexes AS MATERIALIZED (
		SELECT i.indexrelid, i.indrelid, i.indisvalid, c.relname, a.amname,
			p.needs_rows, p.orders, p.is_doubtful, p.is_proved,
			a.amname OPERATOR(pg_catalog.=)
				ANY (ARRAY['btree', 'gist', 'gin']::pg_catalog.name[])
				AS is_known,
			pg_catalog.pg_has_role(c.relowner, 'USAGE') AS is_own,
			i.indisvalid AND (NOT changed_collations
				OR (p.is_doubtful AND NOT p.is_proved)) IS TRUE AS is_due,
			pg_catalog.concat('REINDEX INDEX ',
				CASE WHEN i.indisexclusion
					OR c.relpersistence OPERATOR(pg_catalog.=) 't'::pg_catalog."char"
					OR n.nspname OPERATOR(pg_catalog.=) 'pg_catalog'::pg_catalog.name
				THEN '' ELSE 'CONCURRENTLY ' END,
				i.indexrelid::pg_catalog.regclass) AS reindex,
			CASE WHEN i.indisunique
					AND a.amname OPERATOR(pg_catalog.=) 'btree'::pg_catalog.name
				THEN pg_catalog.concat(
					'SELECT * FROM ', own.name, '.ptsort_duplicates(',
					pg_catalog.quote_literal(
						i.indexrelid::pg_catalog.regclass::pg_catalog.text),
					'::pg_catalog.regclass)') END AS duplicates,
			-- pg_relation_size() would lock the index
			pg_catalog.row_number() OVER (ORDER BY c.relpages DESC, c.oid) AS place
		FROM pg_catalog.pg_index i
		JOIN pg_catalog.pg_class c
			ON c.oid OPERATOR(pg_catalog.=) i.indexrelid
		JOIN pg_catalog.pg_namespace n
			ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
		JOIN pg_catalog.pg_am a ON a.oid OPERATOR(pg_catalog.=) c.relam
		LEFT JOIN proofs p
			ON p.relation OPERATOR(pg_catalog.=) i.indexrelid
		CROSS JOIN own
		WHERE c.relkind OPERATOR(pg_catalog.=) 'i'::pg_catalog."char"
			AND NOT pg_catalog.pg_is_other_temp_schema(c.relnamespace)
			AND NOT (c.relpersistence OPERATOR(pg_catalog.=) 'u'::pg_catalog."char"
				AND pg_catalog.pg_is_in_recovery())
	), chosen AS MATERIALIZED (
		SELECT i.*, (heap OR (changed_collations AND i.needs_rows)) IS TRUE
			AS with_rows
		FROM indexes i
		WHERE i.is_known AND i.is_due
	), checked AS MATERIALIZED (
		SELECT k.* FROM ptsort_check_indexes(
			(SELECT pg_catalog.array_agg(
					c.indexrelid::pg_catalog.regclass ORDER BY c.place)
				FROM chosen c WHERE c.with_rows),
			true, workers, "full") k
		UNION ALL
		SELECT k.* FROM ptsort_check_indexes(
			(SELECT pg_catalog.array_agg(
					c.indexrelid::pg_catalog.regclass ORDER BY c.place)
				FROM chosen c WHERE NOT c.with_rows),
			false, workers, "full") k
	), tables AS MATERIALIZED (
		SELECT p.relation, p.orders,
			pg_catalog.pg_has_role(c.relowner, 'USAGE') AND NOT EXISTS (
				SELECT
				FROM pg_catalog.pg_partition_tree(
					p.relation::pg_catalog.regclass) t
				JOIN pg_catalog.pg_class l
					ON l.oid OPERATOR(pg_catalog.=) t.relid::pg_catalog.oid
				WHERE t.isleaf
					AND NOT pg_catalog.pg_has_role(l.relowner, 'USAGE'))
				AS is_own
		FROM proofs p
		JOIN pg_catalog.pg_class c
			ON c.oid OPERATOR(pg_catalog.=) p.relation
		WHERE changed_collations AND p.is_doubtful AND NOT p.is_proved
			AND p.relkind OPERATOR(pg_catalog.<>) 'i'::pg_catalog."char"
			AND NOT (p.relpersistence OPERATOR(pg_catalog.=) 'u'::pg_catalog."char"
				AND pg_catalog.pg_is_in_recovery())
	), counts (what, n) AS (
		SELECT 'on tables of other owners',
			(SELECT pg_catalog.count(*) FROM chosen c
				WHERE NOT EXISTS (SELECT FROM checked k
					WHERE k.index::pg_catalog.oid
						OPERATOR(pg_catalog.=) c.indexrelid))
			OPERATOR(pg_catalog.+)
			(SELECT pg_catalog.count(*) FROM indexes i
				WHERE i.is_due AND NOT i.is_known AND NOT i.is_own)
		UNION ALL
		SELECT 'in collations whose order is the same', pg_catalog.count(*)
		FROM indexes i
		WHERE i.indisvalid AND NOT i.is_doubtful AND changed_collations
		UNION ALL
		SELECT 'found right or rebuilt since their order may have changed',
			pg_catalog.count(*)
		FROM indexes i
		WHERE i.indisvalid AND i.is_doubtful AND i.is_proved
			AND changed_collations
		UNION ALL
		SELECT 'that no collation affects', pg_catalog.count(*) FROM indexes i
		WHERE i.indisvalid AND i.is_doubtful IS NULL AND changed_collations
			AND i.indexrelid OPERATOR(pg_catalog.>=) 16384::pg_catalog.oid
	), rows AS (
		SELECT 1 AS section, c.place, c.indexrelid AS relation,
			c.indexrelid, c.indrelid, k.problems, k.details, k.elapsed_ms,
			CASE WHEN k.problems OPERATOR(pg_catalog.>) 0::pg_catalog.int8
				THEN c.reindex END AS repair,
			CASE WHEN k.problems OPERATOR(pg_catalog.>) 0::pg_catalog.int8
				THEN c.duplicates END AS wrong_rows,
			CASE WHEN c.is_doubtful AND (heap OR NOT c.needs_rows
				OR changed_collations) THEN c.orders END AS orders
		FROM chosen c
		JOIN checked k
			ON k.index::pg_catalog.oid OPERATOR(pg_catalog.=) c.indexrelid
		UNION ALL
		SELECT 2, NULL, t.relation, NULL, t.relation, w.problems, w.examples, NULL,
			NULL,
			CASE WHEN w.n OPERATOR(pg_catalog.>) 0::pg_catalog.int8 THEN
				pg_catalog.concat('SELECT * FROM ', own.name,
					'.ptsort_wrong_rows(',
					pg_catalog.quote_literal(
						t.relation::pg_catalog.regclass::pg_catalog.text),
					'::pg_catalog.regclass)',
					-- equal keys, of which one is in the wrong partition
					(SELECT pg_catalog.string_agg(pg_catalog.concat(
							'; SELECT * FROM ', own.name, '.ptsort_duplicates(',
							pg_catalog.quote_literal(
								i.indexrelid::pg_catalog.regclass::pg_catalog.text),
							'::pg_catalog.regclass)'), '')
						FROM pg_catalog.pg_index i
						JOIN pg_catalog.pg_class c
							ON c.oid OPERATOR(pg_catalog.=) i.indexrelid
						WHERE i.indrelid OPERATOR(pg_catalog.=) t.relation
							AND i.indisunique
							AND c.relkind OPERATOR(pg_catalog.=)
								'I'::pg_catalog."char"))
			END, t.orders
		FROM tables t
		CROSS JOIN own
		CROSS JOIN LATERAL (
			SELECT pg_catalog.count(*) AS n,
				-- A row without TID is an error: the table is not checked.
				CASE WHEN pg_catalog.count(*) OPERATOR(pg_catalog.=)
						pg_catalog.count(r.ctid) THEN pg_catalog.count(*)
					END AS problems,
				COALESCE(pg_catalog.array_agg(pg_catalog.concat(
						r."table", ' ', r.ctid, ': ', r."constraint"))
					FILTER (WHERE r.place OPERATOR(pg_catalog.<=) 3::pg_catalog.int8),
					ARRAY[]::pg_catalog.text[]) AS examples
			FROM (
				SELECT f.*, pg_catalog.row_number() OVER () AS place
				FROM ptsort_wrong_rows(t.relation::pg_catalog.regclass) f) r
			) w
		WHERE t.is_own
		UNION ALL
		-- "not sound": only a new file then proves that the order is right.  A call
		-- that is not about collations records nothing of these indexes.
		SELECT 3, i.place, CASE WHEN changed_collations THEN i.indexrelid END,
			i.indexrelid, i.indrelid, NULL,
			ARRAY[pg_catalog.concat('ptsort cannot check indexes of the access method ', i.amname)],
			NULL, CASE WHEN changed_collations THEN i.reindex END, NULL, i.orders
		FROM indexes i
		WHERE i.is_due AND NOT i.is_known AND i.is_own
		UNION ALL
		SELECT 4, i.place, i.indexrelid, i.indexrelid, i.indrelid, NULL,
			ARRAY[CASE WHEN l.is_busy
				THEN 'invalid: another session works on the index or its table'
				WHEN l.is_leftover
				THEN 'invalid: a REINDEX CONCURRENTLY that failed left it behind'
				ELSE 'invalid: a CREATE INDEX CONCURRENTLY or REINDEX CONCURRENTLY failed'
				END],
			NULL,
			CASE WHEN l.is_busy THEN NULL
				WHEN l.is_leftover THEN pg_catalog.concat(
					'DROP INDEX CONCURRENTLY ', i.indexrelid::pg_catalog.regclass)
				ELSE i.reindex END,
			CASE WHEN NOT l.is_leftover THEN i.duplicates END, NULL
		FROM indexes i
		CROSS JOIN LATERAL (
			SELECT i.relname::pg_catalog.text OPERATOR(pg_catalog.~)
					'_cc(new|old)\d*$'::pg_catalog.text AS is_leftover,
				EXISTS (SELECT FROM pg_catalog.pg_locks l
					WHERE l.relation OPERATOR(pg_catalog.=)
							ANY (ARRAY[i.indexrelid, i.indrelid])
						AND l.mode OPERATOR(pg_catalog.=)
							'ShareUpdateExclusiveLock') AS is_busy) l
		WHERE NOT i.indisvalid AND i.is_own
		UNION ALL
		SELECT 5, NULL, NULL, NULL, NULL,
			CASE WHEN EXISTS (SELECT FROM counts c
					WHERE c.what OPERATOR(pg_catalog.=) 'on tables of other owners'
						AND c.n OPERATOR(pg_catalog.>) 0::pg_catalog.int8)
					OR EXISTS (SELECT FROM tables t WHERE NOT t.is_own)
				THEN NULL ELSE 0 END,
			COALESCE(pg_catalog.array_agg(
				pg_catalog.concat('left out: ', o.n, ' ', o.what)),
				ARRAY['left out: nothing']),
			NULL, NULL, NULL, NULL
		FROM (
			SELECT pg_catalog.concat(
				CASE WHEN c.n OPERATOR(pg_catalog.=) 1::pg_catalog.int8
					THEN 'index ' ELSE 'indexes ' END, c.what), c.n
			FROM counts c
			UNION ALL
			SELECT CASE WHEN pg_catalog.count(*)
					OPERATOR(pg_catalog.=) 1::pg_catalog.int8
				THEN 'table of another owner, whose rows may be wrong'
				ELSE 'tables of other owners, whose rows may be wrong' END,
				pg_catalog.count(*)
			FROM tables t WHERE NOT t.is_own) o (what, n)
		WHERE o.n OPERATOR(pg_catalog.>) 0::pg_catalog.int8
		HAVING changed_collations
			OR pg_catalog.count(*) OPERATOR(pg_catalog.>) 0::pg_catalog.int8
	), recorded AS MATERIALIZED (
		SELECT CASE WHEN own.records THEN ptsort_record_checks(
			(SELECT pg_catalog.array_agg(r.relation) FROM rows r),
			(SELECT pg_catalog.array_agg(
					CASE WHEN r.problems IS NOT NULL
						OR r.section OPERATOR(pg_catalog.=) 3 THEN r.orders END)
				FROM rows r),
			(SELECT pg_catalog.array_agg(
					(r.problems OPERATOR(pg_catalog.=) 0::pg_catalog.int8) IS TRUE)
				FROM rows r)) END
		FROM own
	)
	SELECT r.indexrelid, r.indrelid, r.problems, r.details, r.elapsed_ms,
		r.repair, r.wrong_rows
	FROM rows r
	CROSS JOIN recorded
	ORDER BY r.section, r.place, r.relation;
END;

COMMENT ON FUNCTION
	ptsort_check_all(pg_catalog.bool, pg_catalog.bool, pg_catalog.int4, pg_catalog.bool)
	IS 'checks the indexes of this database, and shows how to repair them';

-- A collation is remembered if its order did not change, or if all that depends
-- on it is right in the present order.
CREATE FUNCTION ptsort_remember_collations(
	OUT "collation" pg_catalog.regcollation,
	OUT remembered pg_catalog.bool,
	OUT reason pg_catalog.text,
	OUT refresh pg_catalog.text)
RETURNS SETOF pg_catalog.record
LANGUAGE SQL VOLATILE ROWS 10
BEGIN ATOMIC
	WITH uses AS MATERIALIZED (
		SELECT * FROM ptsort_collation_uses
	), doubts AS MATERIALIZED (
		SELECT u."collation" AS oid, pg_catalog.count(DISTINCT u.relation) AS n,
			(pg_catalog.min(u.relation))::pg_catalog.regclass AS example
		FROM uses u
		JOIN ptsort_order_proofs p
			ON p.relation OPERATOR(pg_catalog.=) u.relation
		WHERE NOT p.is_proved
		GROUP BY u."collation"
	), now AS MATERIALIZED (
		SELECT s.*, n.nspname, c.collname, c.oid, d.n, d.example, x.gid,
			s.verdict OPERATOR(pg_catalog.=) 'same order'
				OR (d.n IS NULL AND x.gid IS NULL) AS is_right
		FROM ptsort_collations() s
		JOIN pg_catalog.pg_collation c
			ON c.oid OPERATOR(pg_catalog.=) s."collation"::pg_catalog.oid
		JOIN pg_catalog.pg_namespace n
			ON n.oid OPERATOR(pg_catalog.=) c.collnamespace
		LEFT JOIN doubts d ON d.oid OPERATOR(pg_catalog.=) c.oid
		-- No check sees the rows of a prepared transaction.
		CROSS JOIN (
			SELECT pg_catalog.min(x.gid) FROM pg_catalog.pg_prepared_xacts x
			WHERE x.database OPERATOR(pg_catalog.=)
				pg_catalog.current_database()) x (gid)
	), new AS (
		SELECT * FROM now WHERE now.is_right AND now.digest_now IS NOT NULL
	), old AS (
		DELETE FROM ptsort_collation_digests m USING new
		WHERE m.schema_name OPERATOR(pg_catalog.=) new.nspname
			AND m.collation_name OPERATOR(pg_catalog.=) new.collname
			AND m.provider OPERATOR(pg_catalog.=) new.provider
			AND m.locale::pg_catalog.text OPERATOR(pg_catalog.=) new.locale
			AND m.encoding OPERATOR(pg_catalog.=)
				pg_catalog.getdatabaseencoding()
	), written AS (
		INSERT INTO ptsort_collation_digests (schema_name, collation_name,
			provider, locale, encoding, digest, version, remembered)
		SELECT new.nspname, new.collname, new.provider, new.locale,
			pg_catalog.getdatabaseencoding(), new.digest_now, new.version_now,
			pg_catalog.now()
		FROM new
	), forgotten AS (
		DELETE FROM ptsort_order_checks
		WHERE NOT EXISTS (SELECT FROM now WHERE NOT now.is_right)
	)
	SELECT now.oid::pg_catalog.regcollation,
		now.is_right AND now.digest_now IS NOT NULL,
		CASE
			WHEN NOT now.is_right AND now.n IS NULL THEN pg_catalog.concat(
				'the order may have changed, and no check sees the rows of the prepared transaction ',
				now.gid)
			WHEN NOT now.is_right THEN pg_catalog.concat(
				'the order may have changed, and ', now.n,
				CASE WHEN now.n OPERATOR(pg_catalog.=) 1::pg_catalog.int8
					THEN ' index or table is broken or not checked: '
					ELSE ' indexes or tables are broken or not checked, for example '
				END, now.example)
			WHEN now.digest_now IS NULL THEN 'ptsort has no digest of this collation'
			WHEN now.verdict OPERATOR(pg_catalog.=) 'same order' THEN now.reason
			WHEN EXISTS (SELECT FROM uses u
					WHERE u."collation" OPERATOR(pg_catalog.=) now.oid)
				THEN 'everything that depends on it was found right or rebuilt'
			ELSE 'no index or constraint depends on it' END,
		CASE WHEN now.is_right AND now.version_recorded
				OPERATOR(pg_catalog.<>) now.version_now THEN
			CASE WHEN now.oid OPERATOR(pg_catalog.=)
					'pg_catalog."default"'::pg_catalog.regcollation::pg_catalog.oid
				THEN pg_catalog.concat('ALTER DATABASE ',
					pg_catalog.quote_ident(pg_catalog.current_database()::pg_catalog.text),
					' REFRESH COLLATION VERSION')
				ELSE pg_catalog.concat('ALTER COLLATION ',
					now.oid::pg_catalog.regcollation, ' REFRESH VERSION') END
			END
	FROM now
	ORDER BY now.nspname, now.collname;
END;

REVOKE EXECUTE ON FUNCTION ptsort_remember_collations() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ptsort_remember_collations() TO pg_database_owner;

COMMENT ON FUNCTION ptsort_remember_collations() IS
	'remembers the digests of the collations in whose order all indexes are right';

CREATE FUNCTION ptsort_set_limits(
	pid pg_catalog.int4,
	max_wal_rate pg_catalog.text DEFAULT NULL,
	max_replica_lag pg_catalog.text DEFAULT NULL,
	max_io_rate pg_catalog.text DEFAULT NULL)
RETURNS pg_catalog.bool
AS 'MODULE_PATHNAME', 'ptsort_set_limits'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION ptsort_set_limits(pg_catalog.int4, pg_catalog.text,
	pg_catalog.text, pg_catalog.text) IS
	'changes the limits of the index build or copy that a process leads';

-- Each build and copy that a process of the server leads.  Of the work of other
-- roles, only the first two columns are visible, as in the progress views.
CREATE FUNCTION ptsort_progress(
	OUT pid pg_catalog.int4,
	OUT datname pg_catalog.name,
	OUT relation pg_catalog.text,
	OUT table_name pg_catalog.text,
	OUT kind pg_catalog.text,
	OUT phase pg_catalog.text,
	OUT percent pg_catalog.float8,
	OUT rows_per_second pg_catalog.float8,
	OUT seconds_left pg_catalog.float8,
	OUT elapsed_ms pg_catalog.float8,
	OUT temp_bytes pg_catalog.int8,
	OUT temp_bytes_expected pg_catalog.int8,
	OUT wal_bytes pg_catalog.int8,
	OUT wal_bytes_expected pg_catalog.int8,
	OUT participants pg_catalog.int4,
	OUT paused_ms pg_catalog.float8,
	OUT waiting_for pg_catalog.text)
RETURNS SETOF pg_catalog.record
AS 'MODULE_PATHNAME', 'ptsort_progress'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION ptsort_progress() IS
	'the index builds and copies of tables by ptsort that run now';

-- Only what no existing index depends on, or what is known to be right.
SELECT pg_catalog.count(*) FROM ptsort_remember_collations();
