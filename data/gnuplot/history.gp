# SPDX-License-Identifier: BSD-3-Clause
#
# Draw the levels of parts over many runs.
#
#   gnuplot -e 'png=1; n=2; ylow=80; yhigh=107; ...' -c history.gp FOLDER
#
# png       1: FOLDER/picture.png, 0: FOLDER/picture.svg
# n         how many parts: FOLDER/level1 ... and FOLDER/found1 ...
# yleast, yhigh    range of the levels, percent of the part's median
# ylow      below yleast are the crosses of runs without a level
# tlow, thigh      range of time, seconds since 1970
#
# A file has the name of its part in the first line, then a run a line: seconds
# and percent, separated by a tab.  Those of found are the runs that found it.
# FOLDER/title has one line.

array colors[8] = [ 0x0072b2, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, \
	0x000000, 0x8c6d31, 0x6a3d9a ]
color(i) = colors[(i - 1) % 8 + 1]

if (png) {
	set terminal pngcairo noenhanced size 1000,560 font "Sans,11" \
		background rgb "white"
	set output ARG1."/picture.png"
} else {
	set terminal svg noenhanced size 1000,560 dynamic font "Sans,14" \
		background rgb "white"
	set output ARG1."/picture.svg"
}
set datafile separator "\t"
set datafile commentschars ""
set encoding utf8
file(kind, i) = sprintf("%s/%s%d", ARG1, kind, i)

set multiplot
set lmargin 10
set rmargin 3
# the title, as data: no name is ever part of a command
set origin 0, 0.92
set size 1, 0.08
set tmargin 0
set bmargin 0
unset border
unset tics
unset key
plot [0:1][0:1] ARG1."/title" using (0.02):(0.5):1 with labels left font ",13"

set origin 0, 0
set size 1, 0.92
set tmargin
set bmargin
set border 3
set xdata time
set timefmt "%s"
# about ten ticks, of which no two have the same label
span = thigh - tlow
set format x span < 15 * 24 * 3600 ? "%m-%d\n%H:%M" : "%Y-%m-%d"
set xrange [tlow:thigh]
set yrange [ylow:yhigh]
set xtics nomirror out autofreq
if (span < 15 * 60) {
	set xtics 60 * ceil(span / 600.0)
}
# 1, 2, 5, 10, 20, ... and none where the crosses are
fifth = (yhigh - yleast) / 5.0
power = 10 ** floor(log10(fifth))
step = power * (fifth < 2 * power ? 2 : fifth < 5 * power ? 5 : 10)
set ytics nomirror out ceil(yleast / step) * step, step
set arrow from graph 0, first yleast to graph 1, first yleast nohead \
	linecolor rgb "#808890" dashtype 3
set grid xtics ytics linecolor rgb "#c0c6ce" linewidth 0.5
set ylabel "level, percent of the part's median"
set xlabel "Crosses below the dotted line: found in a run that did not measure the part."
set key outside right top reverse Left samplen 3 spacing 1.05
set rmargin
plot for [i=1:n] file("level", i) using 1:2 with linespoints \
	linecolor rgb color(i) pointtype 7 pointsize 0.4 linewidth 1.2 \
	title columnheader(2), \
	for [i=1:n] file("found", i) every ::1 using 1:2 with points \
	linecolor rgb color(i) pointtype 2 pointsize 1.2 linewidth 2 \
	notitle, \
	1/0 with points linecolor rgb 0x444444 pointtype 2 pointsize 1.2 \
	linewidth 2 title "found"
unset multiplot
