# SPDX-License-Identifier: BSD-3-Clause
#
# Which folder uses which, and which files stand in a circle, by the symbols of
# the object files below a build folder.
# usage: nm -A OBJECT... | awk -v build=FOLDER -f rooms.awk RULES -
#
# RULES has the folders from top to bottom, a line each: a folder uses what
# stands below it, and folders of one line do not use each other.  No files stand
# in a circle.  Prints what breaks a rule.

FNR == NR {
	sub(/#.*/, "")
	for (i = 1; i <= NF; i++)
		level[$i] = FNR
	next
}

# FILE.o:ADDRESS TYPE SYMBOL, FILE.o: U SYMBOL
{
	file = substr($1, length(build) + 2)
	sub(/\.o:.*/, "", file)
	if (!(file in known)) {
		known[file] = 1
		files[++n] = file
	}
	if ($(NF - 1) == "U")
		wants[file, ++wanted[file]] = $NF
	else if ($(NF - 1) ~ /^[TDRBVC]$/)
		home[$NF] = file
}

function room(file)
{
	sub(/\/[^\/]*$/, "", file)
	return file
}

function add_use(file, symbol,    other, a, b)
{
	other = home[symbol]
	if (other == "" || other == file)
		return
	uses[file, ++used[file]] = other
	a = room(file)
	b = room(other)
	if (a != b && !((a, b) in arrow)) {
		arrow[a, b] = file " uses " symbol " of " other
	}
}

# Tarjan: what is on a circle with @v is left on the stack above it.
function visit(v,    i, w, size, names)
{
	number[v] = low[v] = ++visited
	stack[++top] = v
	stacked[v] = 1
	for (i = 1; i <= used[v]; i++) {
		w = uses[v, i]
		if (!(w in number)) {
			visit(w)
			low[v] = min(low[v], low[w])
		} else if (stacked[w]) {
			low[v] = min(low[v], number[w])
		}
	}
	if (low[v] != number[v])
		return
	do {
		w = stack[top--]
		stacked[w] = 0
		names = names " " w
		size++
	} while (w != v)
	if (size > 1)
		print "a circle of " size " files:" names
}

function min(a, b)
{
	return a < b ? a : b
}

END {
	for (i = 1; i <= n; i++) {
		for (k = 1; k <= wanted[files[i]]; k++)
			add_use(files[i], wants[files[i], k])
		if (!(room(files[i]) in level))
			missing[room(files[i])] = 1
	}
	for (folder in missing)
		print folder " has no place in the order of folders"
	for (pair in arrow) {
		split(pair, ends, SUBSEP)
		if (level[ends[1]] >= level[ends[2]])
			print ends[1] " may not use " ends[2] ": " arrow[pair]
	}
	for (i = 1; i <= n; i++) {
		if (!(files[i] in number))
			visit(files[i])
	}
}
