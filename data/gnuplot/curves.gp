# SPDX-License-Identifier: BSD-3-Clause
#
# Draw curves of bandwidth and of time against the size of the message.
#
#   gnuplot -e 'png=1; n=2; bars=1; xlow=8; xhigh=1e9; ...' -c curves.gp FOLDER
#
# png       1: FOLDER/picture.png, 0: FOLDER/picture.svg
# n         how many curves: FOLDER/bw1 ... and FOLDER/time1 ...
# bw, time  are there any points in these
# xlow, xhigh      range of sizes, bytes
# ref1 ...  1: the curve is a reference, dashed
#
# A file of points begins with the name of its curve, and has a line a size:
# size, value, low, high, separated by tabs.  FOLDER/title has one line,
# and a second one of what must be known before the rest is believed.

array ref_of[n]
do for [i=1:n] { ref_of[i] = value(sprintf("ref%d", i)) }

# Okabe and Ito's colours: told apart by readers of any kind of sight.
array colors[8] = [ 0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, \
	0x56b4e9, 0x000000, 0x8c6d31 ]
array points[8] = [ 7, 5, 9, 13, 11, 4, 6, 8 ]
color(i) = colors[(i - 1) % 8 + 1]
point(i) = points[(i - 1) % 8 + 1]
dash(i) = ref_of[i] ? 2 : 1

if (png) {
	set terminal pngcairo noenhanced size 1000,1000 font "Sans,11" \
		background rgb "white"
	set output ARG1."/picture.png"
} else {
	set terminal svg noenhanced size 1000,1000 dynamic font "Sans,14" \
		background rgb "white"
	set output ARG1."/picture.svg"
}
set datafile separator "\t"
set datafile commentschars ""
set encoding utf8
file(kind, i) = sprintf("%s/%s%d", ARG1, kind, i)

set multiplot
set lmargin 12
set rmargin 3

# the title, as data: no name is ever part of a command
set origin 0, 0.95
set size 1, 0.05
set tmargin 0
set bmargin 0
unset border
unset tics
unset key
plot [0:1][0:1] ARG1."/title" every ::0::0 using (0):(0.60):1 \
	with labels left font ",13", \
	ARG1."/title" every ::1::1 using (0):(0.10):1 with labels left \
	textcolor rgb "#c5102e"

set tmargin
set bmargin
set border 3
set logscale x 2
set logscale y 10
set xrange [xlow:xhigh]
set yrange [*:*]
# every power of two of a few, every 2nd up to some 16 of them, else every 4th
label(k) = k < 10 ? sprintf("%d B", 2**k) : k < 20 ? \
	sprintf("%d KiB", 2**(k - 10)) : k < 30 ? \
	sprintf("%d MiB", 2**(k - 20)) : sprintf("%d GiB", 2**(k - 30))
first = int(ceil(log(xlow) / log(2) - 0.01))
last = int(log(xhigh) / log(2) + 0.01)
set xtics nomirror out ()
step = last - first > 16 ? 4 : last - first > 6 ? 2 : 1
do for [k=first:last:step] {
	set xtics add (label(k) 2**k)
}
set ytics nomirror out
set format y "%.10g"
set grid xtics ytics linecolor rgb "#c0c6ce" linewidth 0.5
set pointsize 0.8

if (bw) {
	set origin 0, 0.48
	set size 1, 0.47
	set key top left reverse Left samplen 3 spacing 1.05
	set ylabel (algbw ? "algorithm bandwidth, GB/s" : \
		"bus bandwidth, GB/s")." (10^9 bytes/s)"
	unset xlabel
	plot for [i=1:n] file("bw", i) every ::1 using 1:2:3:4 \
		with yerrorbars linecolor rgb color(i) pointtype -1 \
		linewidth 1 notitle, \
		for [i=1:n] file("bw", i) using 1:2 with linespoints \
		linecolor rgb color(i) pointtype point(i) \
		dashtype dash(i) linewidth 1.5 title columnheader(2)
	unset key
}
set origin 0, 0
set size 1, (bw ? 0.48 : 0.95)
if (!bw) { set key top left reverse Left samplen 3 spacing 1.05 }
set ylabel "time, microseconds"
set xlabel "size of the message"
if (time) {
	plot for [i=1:n] file("time", i) every ::1 using 1:2:3:4 \
		with yerrorbars linecolor rgb color(i) pointtype -1 \
		linewidth 1 notitle, \
		for [i=1:n] file("time", i) using 1:2 with linespoints \
		linecolor rgb color(i) pointtype point(i) \
		dashtype dash(i) linewidth 1.5 title columnheader(2)
}
unset multiplot
