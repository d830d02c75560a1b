# SPDX-License-Identifier: BSD-3-Clause
#
# Paint a picture that gpucheck has laid out, pixel by pixel from the top left,
# into FOLDER/picture.png; gpucheck writes the same as SVG itself.
#
#   gnuplot -e 'w=900; h=700; stroke=2; f0=22; ...' -c picture.gp FOLDER
#
# w, h     size in pixels
# stroke   width of the lines of marks
# rw, rh   size of the raster, 0 where there is none; rx, ry its corner
# f3 - f10 font sizes in pixels, one for each block of texts
#
# FOLDER/shapes has a block of lines for each layer: rectangles, lines, marks,
# and texts by their size and place.  A line is a shape: x, y, width, height,
# colour (decimal), type of point, text, separated by tabs.  FOLDER/raster has
# pixels, three bytes each, that lie below all of them.

# The PNG terminal counts in points of 1/72 inch at 96 dots an inch.
px = 0.75
# Pixels of a point of size 1.
point = 7.2
font(size) = sprintf("Sans,%.2f", size * px)

# 150 dots an inch, of a picture that is laid out for 96.
s = 150.0 / 96
set terminal pngcairo noenhanced size w*s,h*s font font(f4) fontscale s \
	linewidth s pointscale s background rgb "white"
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

file = ARG1."/shapes"
raster = rw == 0 ? "" : sprintf("'%s/raster' binary array=(%d,%d) ". \
	"format='%%uchar%%uchar%%uchar' origin=(%g,%g) dx=1 dy=1 ". \
	"using 1:2:3 with rgbimage, ", ARG1, rw, rh, rx + 0.5, ry + 0.5)

plot \
	@raster \
	file index 0 using ($1 + $3 / 2):($2 + $4 / 2):($3 / 2):($4 / 2):5 \
		with boxxyerror linecolor rgb variable, \
	file index 1 using 1:2:3:4:5 \
		with vectors nohead linewidth 1 linecolor rgb variable, \
	file index 2 using 1:2:($3 / point):6:5 \
		with points pointsize variable pointtype variable \
		linewidth stroke linecolor rgb variable, \
	file index 3 using 1:2:7:5 with labels left \
		textcolor rgb variable font font(f3), \
	file index 4 using 1:2:7:5 with labels left \
		textcolor rgb variable font font(f4), \
	file index 5 using 1:2:7:5 with labels left \
		textcolor rgb variable font font(f5), \
	file index 6 using 1:2:7:5 with labels right \
		textcolor rgb variable font font(f6), \
	file index 7 using 1:2:7:5 with labels center \
		textcolor rgb variable font font(f7), \
	file index 8 using 1:2:7:5 with labels left rotate by 90 \
		textcolor rgb variable font font(f8), \
	file index 9 using 1:2:7:5 with labels right rotate by 90 \
		textcolor rgb variable font font(f9), \
	file index 10 using 1:2:7:5 with labels center \
		textcolor rgb variable font font(f10)
