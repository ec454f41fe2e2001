#!/bin/bash
#
# bench-text.sh - `make bench-text`: measure index builds on text found on this
# machine, with the "C" collation and collations of the C library and of ICU.
# Reports the builds that started over, and median ratios for each kind of
# collation.
#
#	make bench-text                       everything, about half an hour
#	make bench-text SHAPES=dict_de_en,find_c RUNS=5
#
# The script has the arguments of bench.sh, but its own defaults for SHAPES,
# ROWS and OUT.  If root runs the script and NO_INSTALL is not set, the script
# installs missing dictionaries.  Otherwise it leaves out the data sets of
# missing dictionaries.

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/packages.sh
. contrib/dev/packages.sh

# missing_dictionaries: print the packages of the missing dictionaries
missing_dictionaries()
{
	local file package
	while read -r file package; do
		[ -e "/usr/share/$file" ] || echo "$package"
	done <<-END
		dict/american-english wamerican
		dict/ngerman wngerman
		dict/french wfrench
		dict/spanish wspanish
		dict/polish wpolish
		hunspell/cs_CZ.dic hunspell-cs
	END
}

ensure_packages missing_dictionaries ||
	echo "== measuring without these dictionaries" >&2
export SHAPES=${SHAPES:-real} ROWS=${ROWS:-2000000} OUT=${OUT:-build/bench-text}
exec contrib/bench/bench.sh
