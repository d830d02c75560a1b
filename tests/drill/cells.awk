# SPDX-License-Identifier: BSD-3-Clause
#
# Are the rows of a drill what its case says?  Knows nothing of the program but
# the columns and the numbering: ranks node by node, NICs shared in order.
# Prints what is wrong and ends with 1, or prints nothing.

# The rules of the case come as a function of their own:
#   expected(s, d, sn, dn, sg, dg, sk, dk)
# Outcome and code that cell src -> dst must have, several with " / " between;
# n: node, g: GPU, k: NIC, each of s and d.  Sets factor for slow cells.

function problem(s, d, text) {
	printf "%s -> %s: %s\n", s, d, text
	problems++
}

function is_empty(	i) {
	for (i = 18; i <= 23; i++) {
		if ($i != "" && i != 21) {
			return 0
		}
	}
	return 1
}

function one_of(got, wanted,	n, i, each) {
	n = split(wanted, each, " / ")
	for (i = 1; i <= n; i++) {
		if (each[i] == got) {
			return 1
		}
	}
	return 0
}

function median(v, n,	i, j, t) {
	for (i = 2; i <= n; i++) {
		t = v[i]
		for (j = i - 1; j > 0 && v[j] > t; j--) {
			v[j + 1] = v[j]
		}
		v[j + 1] = t
	}
	return v[int((n + 1) / 2)]
}

# Is the last word on a cell what the case says?
function look_at(s, d,	B, sn, dn, sg, dg, wanted) {
	for (B in sizes) {
		if (!((s, d, 1, B) in attempts)) {
			problem(s, d, "no row of " B " bytes")
		}
	}
	sn = int(s / gpus)
	dn = int(d / gpus)
	sg = s % gpus
	dg = d % gpus
	factor = 1
	wanted = expected(s, d, sn, dn, sg, dg, int(sg * nics / gpus),
		int(dg * nics / gpus))
	if (!one_of(result[s, d], wanted)) {
		problem(s, d, "'" result[s, d] "', not '" wanted "'")
	}
	if (result[s, d] != "ok ") {
		return
	}
	slow[s, d] = factor
	if (factor == 1) {
		good[sn != dn, ++n_good[sn != dn]] = bandwidth[s, d]
	}
}

# The model is exact but for its noise; on tcp a throttled cell is slow beside
# the others, whatever else this machine does, but they may be slower than they
# should be as well.
function compare(s, d,	beside, ratio, off, wrong) {
	beside = usual[int(s / gpus) != int(d / gpus)]
	if (!beside) {
		return
	}
	ratio = bandwidth[s, d] / beside / slow[s, d]
	off = 100 * (ratio > 1 ? ratio - 1 : 1 - ratio)
	widest = off > widest ? off : widest
	wrong = off > 10
	if (transport != "sim") {
		wrong = ratio > 3 && bandwidth[s, d] > beside / 4
	}
	if (slow[s, d] < 1 && wrong) {
		problem(s, d, "bandwidth " bandwidth[s, d] " beside " beside \
			" is not x " slow[s, d])
	}
}

BEGIN {
	match(options, /--local=[0-9]+x[0-9]+/)
	split(substr(options, RSTART + 8, RLENGTH - 8), size, "x")
	nodes = size[1]
	gpus = nics = size[2]
	if (match(options, /--nics=[0-9]+/)) {
		nics = substr(options, RSTART + 7, RLENGTH - 7)
	}
}

NR == 1 { next }

# looks at what has its last word already
$15 == "follow-up" { next }

{
	attempts[$2, $6, $1, $16]++
	sizes[$16]
	largest = $16 + 0 > largest ? $16 + 0 : largest
	if (attempts[$2, $6, $1, $16] > 1) {
		problem($2, $6, "attempt " $1 " twice")
	}
	if ($1 != 1 && ($1 != 2 || !(($2, $6, 1, $16) in attempts))) {
		problem($2, $6, "attempt " $1 " out of turn")
	}
	if ($3 != "n" int($2 / gpus) || $4 != $2 % gpus ||
	    $7 != "n" int($6 / gpus) || $8 != $6 % gpus) {
		problem($2, $6, "another rank's place: " $3 ":" $4 " " $7 ":" $8)
	}
	sk = int($4 * nics / gpus)
	dk = int($8 * nics / gpus)
	inter = $3 != $7
	if ($5 != (inter ? "nic" sk : "") || $9 != (inter ? "nic" dk : "")) {
		problem($2, $6, "another NIC: '" $5 "' '" $9 "'")
	}
	if (($25 == "ok" || $25 == "corrupt") ? is_empty() : !is_empty()) {
		problem($2, $6, "bandwidth '" $18 "' and latency '" $22 "' though " $25)
	}
	if ($25 == "ok" ? $24 != "0" : $25 == "corrupt" && $24 <= 0) {
		problem($2, $6, $24 " wrong bytes though " $25)
	}
	if ($16 == largest) {
		result[$2, $6] = $25 " " $26
		bandwidth[$2, $6] = $18
	}
}

END {
	ranks = nodes * gpus
	for (s = 0; s < ranks; s++) {
		for (d = 0; d < ranks; d++) {
			if (s != d) {
				look_at(s, d)
			}
		}
	}
	for (inter = 0; inter < 2; inter++) {
		for (i = 1; i <= n_good[inter]; i++) {
			v[i] = good[inter, i]
		}
		usual[inter] = median(v, n_good[inter])
	}
	for (cell in slow) {
		split(cell, at, SUBSEP)
		compare(at[1], at[2])
	}
	if (spread != "" && (widest > 1.3 * spread || widest < spread / 2)) {
		problem("all", "all", "bandwidths differ by " widest " %")
	}
	exit problems > 0
}
