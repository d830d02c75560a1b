# SPDX-License-Identifier: BSD-3-Clause
#
# Of the symbols of a C library, those that an older one has as well: a source
# for the assembler, from which a library is made that is only linked with.
# usage: objdump -T libc.so.6 | awk -f stub.awk -v newest=2.28 -v map=FILE
#
# A library keeps the old versions of its symbols, and a linker takes the newest
# that it sees.  Here it sees none above @newest.  Of each name the highest
# version stands; @map gets the version script.

function number(version,   part)
{
	split(version, part, ".")
	return part[1] * 1e6 + part[2] * 1e3 + part[3]
}

# ADDRESS FLAGS SECTION SIZE VERSION NAME; old versions in parentheses.
$NF ~ /^[A-Za-z_][A-Za-z_0-9]*$/ && !/\*UND\*|\*ABS\*/ &&
$(NF - 1) ~ /^\(?GLIBC_[0-9.]+\)?$/ {
	version = $(NF - 1)
	gsub(/[()]/, "", version)
	at = number(substr(version, 7))
	if (at > number(newest) || at < best[$NF])
		next
	best[$NF] = at
	of[$NF] = version
	size[$NF] = $(NF - 2)
	address[$NF] = $1
	bind[$NF] = / w / ? ".weak" : ".globl"
	is_data[$NF] = / D[O ] / && $(NF - 3) ~ /bss|data/
}

# A program has a copy of the data that it uses, by all names that these have:
# names of one address have one here as well.
END {
	for (name in of) {
		versions[of[name]] = versions[of[name]] " " name ";"
		type = is_data[name] ? "object" : "function"
		printf "%s %s\n.type %s, %%%s\n", bind[name], name, name, type
		if (is_data[name]) {
			at = address[name]
			printf ".size %s, 0x%s\n", name, size[name]
			labels[at] = labels[at] name ": "
			room[at] = size[name]
		} else {
			printf "%s: .skip 4\n", name
		}
	}
	print ".bss"
	for (at in room)
		printf ".balign 32\n%s .skip 0x%s\n", labels[at], room[at]
	for (version in versions)
		printf "%s { global:%s };\n", version, versions[version] >map
	print ".section .note.GNU-stack,\"\",%progbits"
}
