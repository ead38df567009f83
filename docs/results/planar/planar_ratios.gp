# Draws the numbers of the .plot.csv file beside this script. In this directory:
#     gnuplot -e "format='svg'" THIS.gp > FIGURE.svg      (or png, pdf)
if (!exists("format")) format = 'svg'
if (format eq 'svg') set terminal svg name 'figure_planar_ratios' enhanced size 1150,990 font 'Helvetica,16' background '#ffffff' linewidth 1 dashlength 1
if (format eq 'png') set terminal pngcairo enhanced size 2300,1980 font 'Helvetica,16' fontscale 1.5 linewidth 2 pointscale 2 dashlength 1 background '#ffffff'
if (format eq 'pdf') set terminal pdfcairo enhanced size 11.979in,10.312in font 'Helvetica,16' fontscale 0.62 linewidth 2 pointscale 0.75 dashlength 0.8
if (format eq 'frame') set terminal pngcairo enhanced size 1150,990 font 'Helvetica,16' fontscale 0.75 linewidth 1 dashlength 1 background '#ffffff'
if (format eq 'page') set terminal pngcairo enhanced size 1610,1386 font 'Helvetica,16' fontscale 1.05 linewidth 1.4 pointscale 1.4 dashlength 1 background '#ffffff'
data = './planar_ratios.plot.csv'
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
head = 0.005217
set multiplot layout 3,1

set title '(A) Error over that of DSM, equal steps' font ',17'
unset xlabel
set ylabel 'ratio of errors'
set key top center horizontal Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xtics ('asymmetric' 1, 'sparse-dense' 2, 'elongated' 3, 'two spiral' 4, 'ring' 5, 'pinwheel' 6, 'two moon' 7, 'double ring' 8)
set xrange [0.40000000000000002:8.5999999999999996]
set logscale y 10
set format y '10^{%T}'
set ytics 0.01,10
set mytics default
set yrange [0.050000000000000003:20]
set rmargin 2
set size noratio
plot data skip 1 every ::0::1 using (pick(1,1,4)):(pick(1,1,5)) with lines linewidth 2.5 dashtype (10,6) linecolor rgb '#000000' notitle, \
     data skip 1 every ::2::9 using (pick(1,2,4)):(pick(1,2,5)):(bound(1,2,6)):(bound(1,2,7)) with yerrorbars linewidth 2 pointtype 9 pointsize 0.9 linecolor rgb '#009E73' title 'DSM, same targets', \
     data skip 1 every ::10::17 using (pick(1,3,4)):(pick(1,3,5)):(bound(1,3,6)):(bound(1,3,7)) with yerrorbars linewidth 2 pointtype 13 pointsize 0.9 linecolor rgb '#E69F00' title 'FP', \
     data skip 1 every ::18::25 using (pick(1,4,4)):(pick(1,4,5)):(bound(1,4,6)):(bound(1,4,7)) with yerrorbars linewidth 2 pointtype 15 pointsize 0.9 linecolor rgb '#56B4E9' title 'FP, same targets', \
     data skip 1 every ::26::33 using (pick(1,5,4)):(pick(1,5,5)):(bound(1,5,6)):(bound(1,5,7)) with yerrorbars linewidth 2 pointtype 7 pointsize 0.9 linecolor rgb '#0072B2' title 'HB', \
     data skip 1 every ::34::41 using (pick(1,6,4)):(pick(1,6,5)):(bound(1,6,6)):(bound(1,6,7)) with yerrorbars linewidth 2 pointtype 11 pointsize 0.9 linecolor rgb '#CC79A7' title 'HB as printed'

set title '(B) Error over that of DSM with the same targets, equal steps' font ',17'
unset xlabel
set ylabel 'ratio of errors'
set key bottom right horizontal Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xtics ('asymmetric' 1, 'sparse-dense' 2, 'elongated' 3, 'two spiral' 4, 'ring' 5, 'pinwheel' 6, 'two moon' 7, 'double ring' 8)
set xrange [0.40000000000000002:8.5999999999999996]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [0:1.1000000000000001]
set rmargin 2
set size noratio
plot data skip 1 every ::42::43 using (pick(2,1,4)):(pick(2,1,5)) with lines linewidth 2.5 dashtype (10,6) linecolor rgb '#000000' notitle, \
     data skip 1 every ::44::51 using (pick(2,2,4)):(pick(2,2,5)):(bound(2,2,6)):(bound(2,2,7)) with yerrorbars linewidth 2 pointtype 15 pointsize 0.9 linecolor rgb '#56B4E9' title 'FP, same targets', \
     data skip 1 every ::52::59 using (pick(2,3,4)):(pick(2,3,5)):(bound(2,3,6)):(bound(2,3,7)) with yerrorbars linewidth 2 pointtype 7 pointsize 0.9 linecolor rgb '#0072B2' title 'HB'

set title '(C) Error over that of DSM with the same targets, equal time' font ',17'
unset xlabel
set ylabel 'ratio of errors'
set key bottom right horizontal Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xtics ('asymmetric' 1, 'sparse-dense' 2, 'elongated' 3, 'two spiral' 4, 'ring' 5, 'pinwheel' 6, 'two moon' 7, 'double ring' 8)
set xrange [0.40000000000000002:8.5999999999999996]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [0:1.1000000000000001]
set rmargin 2
set size noratio
plot data skip 1 every ::60::61 using (pick(3,1,4)):(pick(3,1,5)) with lines linewidth 2.5 dashtype (10,6) linecolor rgb '#000000' notitle, \
     data skip 1 every ::62::69 using (pick(3,2,4)):(pick(3,2,5)):(bound(3,2,6)):(bound(3,2,7)) with yerrorbars linewidth 2 pointtype 15 pointsize 0.9 linecolor rgb '#56B4E9' title 'FP, same targets, equal time', \
     data skip 1 every ::70::77 using (pick(3,3,4)):(pick(3,3,5)):(bound(3,3,6)):(bound(3,3,7)) with yerrorbars linewidth 2 pointtype 7 pointsize 0.9 linecolor rgb '#0072B2' title 'HB'
unset multiplot
