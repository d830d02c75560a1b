# SPDX-License-Identifier: BSD-3-Clause
#
# Draw curves of bandwidth and of time against the size of the message; if there
# is one size, bars of bandwidth.
#
#   gnuplot -e 'png=1; n=2; xlow=8; xhigh=1e9; ...' -c curves.gp FOLDER
#
# png       1: FOLDER/picture.png, 0: FOLDER/picture.svg
# n         number of lines: FOLDER/bw1, rel1 and time1 ...
# bw, rel, time    are there points in these: bandwidth, percent of that of the
#           first curve, and microseconds
# pairs     1: of tests of pairs
# most      largest bandwidth
# ylow, yhigh, logy   range of the axis of bandwidth; 1: it is logarithmic
# label     letters of the longest name
# both      some lines are in place
# off, bad  are there outliers in FOLDER/off, failed sizes in FOLDER/bad
# found     lines of findings in the title
# tops      lines of ceilings: top1 is its bandwidth, cap1 its algorithm or ""
# xlow, xhigh      range of sizes, bytes
# c1 ...    number of the line's colour
# in1 ...   1: the line is in place
# ref1 ...  1: the curve is a reference, dashed
#
# A file of points begins with the name of its curve, and has a line for each
# size: size, value, low, high, separated by tabs.  FOLDER/labels has bandwidth,
# colour and name for the end of each line.  FOLDER/title has one line and a
# second one of what must be known before the rest is believed, FOLDER/found has
# the findings.

array ref_of[n]
array color_of[n]
array in_of[n]
do for [i=1:n] {
	ref_of[i] = value(sprintf("ref%d", i))
	color_of[i] = value(sprintf("c%d", i))
	in_of[i] = value(sprintf("in%d", i))
}

# Okabe and Ito's colours: told apart by readers of any kind of sight.
array colors[8] = [ 0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, \
	0x56b4e9, 0x000000, 0x8c6d31 ]
array points[8] = [ 7, 5, 9, 13, 11, 15, 7, 5 ]
array hollow[8] = [ 6, 4, 8, 12, 10, 14, 6, 4 ]
paint(k) = colors[(int(k) - 1) % 8 + 1]
color(i) = paint(color_of[i])
point(i) = in_of[i] ? hollow[(color_of[i] - 1) % 8 + 1] : \
	points[(color_of[i] - 1) % 8 + 1]
dash(i) = ref_of[i] ? 2 : in_of[i] ? 3 : 1

one = xlow == xhigh && bw
head = 56.0 + 20 * found
high = head + (one ? 90 + 32 * n : 440 * bw + 300 * rel + 320 * time)
# PNG: 150 dots an inch, of a picture that is laid out for 96
s = 150.0 / 96
if (png) {
	set terminal pngcairo noenhanced size 1100*s,high*s font "Sans,11" \
		fontscale s linewidth s pointscale s background rgb "white"
	set output ARG1."/picture.png"
} else {
	set terminal svg noenhanced size 1100,high dynamic font "Sans,14" \
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
set origin 0, 1 - head / high
set size 1, head / high
set tmargin 0
set bmargin 0
unset border
unset tics
unset key
set yrange [head:0]
set xrange [0:1]
plot ARG1."/title" every ::0::0 using (0):(16):1 \
	with labels left font ",13", \
	ARG1."/title" every ::1::1 using (0):(40):1 with labels left \
	textcolor rgb "#c5102e", \
	ARG1."/found" using (0):(58 + 20 * $0):1 with labels left \
	textcolor rgb "#a84300"

set tmargin
set bmargin
bandwidth = pairs ? "bandwidth, GB/s" : \
	algbw ? "algorithm bandwidth, GB/s" : "bus bandwidth, GB/s"

if (one) {
	set origin 0, 0
	set size 1, 1 - head / high
	set lmargin label + 4
	set rmargin 12
	set border 1
	set yrange [n + 0.6:0.4]
	set xrange [0:most * 1.05]
	set xtics nomirror out
	set grid xtics linetype 1 linecolor rgb "#c8cdd3" linewidth 0.5
	set xlabel bandwidth
	set style fill solid 1.0 noborder
	set bmargin 4
	plot for [i=1:n] file("bw", i) every ::1 using \
		($2/2):(i):($2/2):(in_of[i] ? 0.2 : 0.35) with boxxyerror \
		linecolor rgb color(i), \
		for [i=1:n] file("bw", i) every ::1 using 2:(i): \
		(sprintf(" %.4g%s", $2, in_of[i] ? " in place" : "")) \
		with labels left, \
		for [i=1:n] file("bw", i) every ::0::0 using (0):(i):2 \
		with labels right offset -1,0
	unset multiplot
	exit
}

set border 3
set logscale x 2
# a little more than the sizes, or the last one is lost in rounding
set xrange [xlow * 0.97:xhigh * 1.03]
if (xlow == xhigh) { set xrange [xlow / 2.0:xhigh * 2.0] }
# every power of two of a few, else every 2nd or 4th, always the last one
name(k) = k < 10 ? sprintf("%d B", 2**k) : k < 20 ? \
	sprintf("%d KiB", 2**(k - 10)) : k < 30 ? \
	sprintf("%d MiB", 2**(k - 20)) : sprintf("%d GiB", 2**(k - 30))
first = int(ceil(log(xlow) / log(2) - 0.01))
last = int(log(xhigh) / log(2) + 0.01)
set xtics nomirror out ()
step = last - first > 24 ? 4 : last - first > 12 ? 2 : 1
do for [k=last:first:-step] {
	set xtics add (name(k) 2**k)
}
set ytics nomirror out
set format y "%.10g"
set grid xtics ytics linetype 1 linecolor rgb "#c8cdd3" \
	linewidth 0.5
set pointsize 0.8
set rmargin label + (both ? 15 : 8)
top = 1 - head / high
legend = (both ? "hollow, dotted: in place" : "").(off ? (both ? "; " : ""). \
	"circled: off its curve" : "").(bad ? (both || off ? "; " : ""). \
	"red cross: failed" : "")

if (bw) {
	top = top - 440 / high
	set origin 0, top
	set size 1, 440 / high
	set ylabel bandwidth
	set yrange [ylow:yhigh]
	if (logy) { set logscale y 10 }
	unset xlabel
	set label 1 legend at graph 0.01, graph 1.04 left
	do for [i=1:tops] {
		t = value(sprintf("top%d", i))
		c = value(sprintf("cap%d", i))
		set arrow i from graph 0, first t to graph 1, first t nohead \
			dashtype 4 linewidth 1.5 linecolor rgb "#59636e"
		set label i + 1 sprintf("ceiling%s%s, %.4g GB/s", c eq "" ? "" : \
			" of ", c, t) at graph 0.01, first t offset 0,0.6 left \
			textcolor rgb "#59636e"
	}
	plot for [i=1:n] file("bw", i) every ::1 using 1:2:3:4 \
		with yerrorbars linecolor rgb color(i) pointtype -1 \
		linewidth 1 notitle, \
		for [i=1:n] file("bw", i) every ::1 using 1:2 with \
		linespoints linecolor rgb color(i) pointtype point(i) \
		dashtype dash(i) linewidth 1.5, \
		ARG1."/off" using 1:2 with points pointtype 6 pointsize 2.2 \
		linewidth 2 linecolor rgb "#a84300", \
		ARG1."/bad" using 1:(0) with points pointtype 2 pointsize 1.4 \
		linewidth 2 linecolor rgb "#c5102e", \
		ARG1."/labels" using (xhigh):1:3:(paint($2)) with labels left \
		offset 1,0 textcolor rgb variable
	unset label
	unset arrow
	unset logscale y
}
if (rel) {
	top = top - 300 / high
	set origin 0, top
	set size 1, 300 / high
	set ylabel "% of the first curve"
	set yrange [0:*<250]
	plot 100 with lines linecolor rgb "#59636e" linewidth 1, \
		for [i=1:n] file("rel", i) every ::1 using 1:2 with \
		linespoints linecolor rgb color(i) pointtype point(i) \
		dashtype dash(i) linewidth 1.5
}
set origin 0, 0
set size 1, 320 / high
set ylabel "time"
set xlabel "size of the message"
set logscale y 10
set yrange [*:*]
set format y "%.0f"
set ytics nomirror out ("0.1 µs" 0.1, "1 µs" 1, "10 µs" 10, "100 µs" 100, \
	"1 ms" 1e3, "10 ms" 1e4, "100 ms" 1e5, "1 s" 1e6, "10 s" 1e7, \
	"100 s" 1e8)
if (time) {
	plot for [i=1:n] file("time", i) every ::1 using 1:2:3:4 \
		with yerrorbars linecolor rgb color(i) pointtype -1 \
		linewidth 1 notitle, \
		for [i=1:n] file("time", i) every ::1 using 1:2 with \
		linespoints linecolor rgb color(i) pointtype point(i) \
		dashtype dash(i) linewidth 1.5, \
		ARG1."/off" using 1:3 with points pointtype 6 pointsize 2.2 \
		linewidth 2 linecolor rgb "#a84300"
}
unset multiplot
