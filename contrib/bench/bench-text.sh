#!/bin/bash
#
# bench-text.sh - `make bench-text`: index builds on real text, that this
# machine holds, in "C", by the C library and by ICU; what starts over, and the
# medians of each kind of collation.
#
#	make bench-text                       everything, about half an hour
#	make bench-text SHAPES=dict_de_en,find_c RUNS=5
#
# Arguments are those of bench.sh, with other defaults.  The dictionaries' packages
# are installed if that may be; without them the report lacks these sets.

set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=contrib/dev/packages.sh
. contrib/dev/packages.sh

# missing_dictionaries: print the packages of dictionaries that are missing
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
