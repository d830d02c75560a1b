# SPDX-License-Identifier: BSD-3-Clause
#
# Paint a picture that gpucheck has laid out, pixel by pixel from the top left,
# into FOLDER/picture.png; gpucheck writes the same as SVG itself.
#
#   gnuplot -e 'w=900; h=700; stroke=2; f0=22; ...' -c picture.gp FOLDER
#
# w, h     size in pixels
# stroke   width of the lines of marks
# f0 - f6  font sizes in pixels, one for each file of texts
#
# FOLDER/rects, marks, lines, text0 ... text6 hold the shapes, one a line,
# fields separated by tabs, colours as decimal numbers.

# The PNG terminal counts in points of 1/72 inch at 96 dots an inch.
px = 0.75
# Pixels of a point of size 1.
point = 7.2
font(size) = sprintf("Sans,%.2f", size * px)

set terminal pngcairo noenhanced size w,h font font(f1) background rgb "white"
set output ARG1."/picture.png"

set datafile separator "\t"
set datafile commentschars ""
set encoding utf8
unset key
unset border
unset tics
set margins 0, 0, 0, 0
set xrange [0:w]
set yrange [h:0]
set style fill solid 1.0 noborder

file(name) = ARG1."/".name

plot \
	file("rects") using ($1 + $3 / 2):($2 + $4 / 2):($3 / 2):($4 / 2):5 \
		with boxxyerror linecolor rgb variable, \
	file("lines") using 1:2:($3 - $1):($4 - $2):5 \
		with vectors nohead linewidth 1 linecolor rgb variable, \
	file("marks") using 1:2:($3 / point):4:5 \
		with points pointsize variable pointtype variable \
		linewidth stroke linecolor rgb variable, \
	file("text0") using 1:2:4:3 with labels left \
		textcolor rgb variable font font(f0), \
	file("text1") using 1:2:4:3 with labels left \
		textcolor rgb variable font font(f1), \
	file("text2") using 1:2:4:3 with labels left \
		textcolor rgb variable font font(f2), \
	file("text3") using 1:2:4:3 with labels right \
		textcolor rgb variable font font(f3), \
	file("text4") using 1:2:4:3 with labels center \
		textcolor rgb variable font font(f4), \
	file("text5") using 1:2:4:3 with labels left rotate by 90 \
		textcolor rgb variable font font(f5), \
	file("text6") using 1:2:4:3 with labels center \
		textcolor rgb variable font font(f6)
