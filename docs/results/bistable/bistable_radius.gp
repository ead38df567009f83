# Draws the numbers of the .plot.csv file beside this script. In this directory:
#     gnuplot -e "format='svg'" THIS.gp > FIGURE.svg      (or png, pdf)
if (!exists("format")) format = 'svg'
if (format eq 'svg') set terminal svg name 'figure_bistable_radius' enhanced size 1120,420 font 'Helvetica,16' background '#ffffff' linewidth 1 dashlength 1
if (format eq 'png') set terminal pngcairo enhanced size 2240,840 font 'Helvetica,16' fontscale 1.5 linewidth 2 pointscale 2 dashlength 1 background '#ffffff'
if (format eq 'pdf') set terminal pdfcairo enhanced size 11.667in,4.375in font 'Helvetica,16' fontscale 0.62 linewidth 2 pointscale 0.75 dashlength 0.8
if (format eq 'frame') set terminal pngcairo enhanced size 1120,420 font 'Helvetica,16' fontscale 0.75 linewidth 1 dashlength 1 background '#ffffff'
if (format eq 'page') set terminal pngcairo enhanced size 1568,588 font 'Helvetica,16' fontscale 1.05 linewidth 1.4 pointscale 1.4 dashlength 1 background '#ffffff'
data = './bistable_radius.plot.csv'
set encoding utf8
set minussign
set autoscale xfix
set datafile separator comma
pick(p, s, c) = (column(1) == p && column(2) == s) ? column(c) : NaN
piece(p, s, c) = valid(c) ? pick(p, s, c) : NaN
bound(p, s, c) = valid(c) ? pick(p, s, c) : pick(p, s, 5)
set border 3 linewidth 1.2 linecolor rgb '#404040'
set tics nomirror out scale 0.7,0.4 textcolor rgb '#202020'
set grid xtics ytics back linewidth 0.8 linetype 1 linecolor rgb '#e3e3e3'
set lmargin 9.5
set rmargin 2
set tmargin 2.6
set bmargin 3.6
head = 0.005357
set multiplot layout 1,2

set title '(A) Monte Carlo' font ',17'
set xlabel 'radius {/:Italic r}' offset 0,0.3
set ylabel 'mean squared error on [−3, 3]'
set key top left Left reverse samplen 2.2 spacing 1.25 font ',14'
set logscale x 10
set format x '10^{%T}'
set xtics 0.01,10
set mxtics default
set xrange [0.040000000000000001:1.5]
set logscale y 10
set format y '10^{%T}'
set ytics 9.9999999999999994e-12,100
set mytics default
set yrange [9.9999999999999994e-12:10]
set rmargin 2
set size noratio
plot data skip 1 every ::0::6 using (pick(1,1,4)):(pick(1,1,5)):(bound(1,1,6)):(bound(1,1,7)) with yerrorbars linewidth 2 pointtype 7 pointsize 0.9 linecolor rgb '#0072B2' title '0 auxiliary dimensions', \
     data skip 1 every ::7::13 using (pick(1,2,4)):(pick(1,2,5)) with lines linewidth 2.5 dashtype (10,6) linecolor rgb '#0072B2' notitle, \
     data skip 1 every ::14::20 using (pick(1,3,4)):(pick(1,3,5)):(bound(1,3,6)):(bound(1,3,7)) with yerrorbars linewidth 2 pointtype 5 pointsize 0.9 linecolor rgb '#D55E00' title '2 auxiliary dimensions', \
     data skip 1 every ::21::27 using (pick(1,4,4)):(pick(1,4,5)) with lines linewidth 2.5 dashtype (10,6) linecolor rgb '#D55E00' notitle, \
     data skip 1 every ::28::34 using (pick(1,5,4)):(pick(1,5,5)):(bound(1,5,6)):(bound(1,5,7)) with yerrorbars linewidth 2 pointtype 9 pointsize 0.9 linecolor rgb '#009E73' title '8 auxiliary dimensions', \
     data skip 1 every ::35::41 using (pick(1,6,4)):(pick(1,6,5)) with lines linewidth 2.5 dashtype (10,6) linecolor rgb '#009E73' title 'reported error'

set title '(B) Cubature' font ',17'
set xlabel 'radius {/:Italic r}' offset 0,0.3
set ylabel 'mean squared error on [−3, 3]'
set key top left Left reverse samplen 2.2 spacing 1.25 font ',14'
set logscale x 10
set format x '10^{%T}'
set xtics 0.01,10
set mxtics default
set xrange [0.040000000000000001:1.5]
set logscale y 10
set format y '10^{%T}'
set ytics 9.9999999999999995e-21,100
set mytics default
set yrange [9.9999999999999995e-21:1.0000000000000001e-05]
set rmargin 2
set size noratio
plot data skip 1 every ::42::48 using (pick(2,1,4)):(pick(2,1,5)):(bound(2,1,6)):(bound(2,1,7)) with yerrorbars linewidth 2 pointtype 7 pointsize 0.9 linecolor rgb '#0072B2' title '0 auxiliary dimensions', \
     data skip 1 every ::49::55 using (pick(2,2,4)):(pick(2,2,5)) with lines linewidth 2.5 dashtype (10,6) linecolor rgb '#0072B2' notitle, \
     data skip 1 every ::56::62 using (pick(2,3,4)):(pick(2,3,5)):(bound(2,3,6)):(bound(2,3,7)) with yerrorbars linewidth 2 pointtype 5 pointsize 0.9 linecolor rgb '#D55E00' title '2 auxiliary dimensions', \
     data skip 1 every ::63::69 using (pick(2,4,4)):(pick(2,4,5)) with lines linewidth 2.5 dashtype (10,6) linecolor rgb '#D55E00' notitle, \
     data skip 1 every ::70::76 using (pick(2,5,4)):(pick(2,5,5)):(bound(2,5,6)):(bound(2,5,7)) with yerrorbars linewidth 2 pointtype 9 pointsize 0.9 linecolor rgb '#009E73' title '8 auxiliary dimensions', \
     data skip 1 every ::77::83 using (pick(2,6,4)):(pick(2,6,5)) with lines linewidth 2.5 dashtype (10,6) linecolor rgb '#009E73' title 'reported error'
unset multiplot
