# Draws the numbers of the .plot.csv file beside this script. In this directory:
#     gnuplot -e "format='svg'" THIS.gp > FIGURE.svg      (or png, pdf)
if (!exists("format")) format = 'svg'
if (format eq 'svg') set terminal svg name 'figure_planar_regions' enhanced size 1040,800 font 'Helvetica,16' background '#ffffff' linewidth 1 dashlength 1
if (format eq 'png') set terminal pngcairo enhanced size 2080,1600 font 'Helvetica,16' fontscale 1.5 linewidth 2 pointscale 2 dashlength 1 background '#ffffff'
if (format eq 'pdf') set terminal pdfcairo enhanced size 10.833in,8.333in font 'Helvetica,16' fontscale 0.62 linewidth 2 pointscale 0.75 dashlength 0.8
if (format eq 'frame') set terminal pngcairo enhanced size 1040,800 font 'Helvetica,16' fontscale 0.75 linewidth 1 dashlength 1 background '#ffffff'
if (format eq 'page') set terminal pngcairo enhanced size 1456,1120 font 'Helvetica,16' fontscale 1.05 linewidth 1.4 pointscale 1.4 dashlength 1 background '#ffffff'
data = './planar_regions.plot.csv'
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
head = 0.005769
set multiplot layout 2,2

set title 'elongated gmm: high density' font ',17'
set xlabel 'step of training' offset 0,0.3
set ylabel 'error of the score'
set key bottom left Left reverse samplen 2.2 spacing 1.25 font ',14'
set logscale x 10
set format x '10^{%T}'
set xtics 10,10
set mxtics default
set xrange [*:*]
set logscale y 10
set format y '10^{%T}'
set ytics 0.0001,10
set mytics default
set yrange [*:*]
set rmargin 2
set size noratio
plot data skip 1 every ::0::19 using (pick(1,1,4)):(pick(1,1,5)) with lines linewidth 2.5 linecolor rgb '#D55E00' title 'DSM', \
     data skip 1 every ::20::39 using (pick(1,2,4)):(pick(1,2,5)) with lines linewidth 2.5 linecolor rgb '#009E73' title 'DSM, same targets', \
     data skip 1 every ::40::59 using (pick(1,3,4)):(pick(1,3,5)) with lines linewidth 2.5 linecolor rgb '#E69F00' title 'FP', \
     data skip 1 every ::60::79 using (pick(1,4,4)):(pick(1,4,5)) with lines linewidth 2.5 linecolor rgb '#56B4E9' title 'FP, same targets', \
     data skip 1 every ::80::99 using (pick(1,5,4)):(pick(1,5,5)) with lines linewidth 2.5 linecolor rgb '#0072B2' title 'HB'

set title 'elongated gmm: low density' font ',17'
set xlabel 'step of training' offset 0,0.3
set ylabel 'error of the score'
set key bottom left Left reverse samplen 2.2 spacing 1.25 font ',14'
set logscale x 10
set format x '10^{%T}'
set xtics 10,10
set mxtics default
set xrange [*:*]
set logscale y 10
set format y '10^{%T}'
set ytics 0.001,10
set mytics default
set yrange [*:*]
set rmargin 2
set size noratio
plot data skip 1 every ::100::119 using (pick(2,1,4)):(pick(2,1,5)) with lines linewidth 2.5 linecolor rgb '#D55E00' title 'DSM', \
     data skip 1 every ::120::139 using (pick(2,2,4)):(pick(2,2,5)) with lines linewidth 2.5 linecolor rgb '#009E73' title 'DSM, same targets', \
     data skip 1 every ::140::159 using (pick(2,3,4)):(pick(2,3,5)) with lines linewidth 2.5 linecolor rgb '#E69F00' title 'FP', \
     data skip 1 every ::160::179 using (pick(2,4,4)):(pick(2,4,5)) with lines linewidth 2.5 linecolor rgb '#56B4E9' title 'FP, same targets', \
     data skip 1 every ::180::199 using (pick(2,5,4)):(pick(2,5,5)) with lines linewidth 2.5 linecolor rgb '#0072B2' title 'HB'

set title 'sparse dense gmm: high density' font ',17'
set xlabel 'step of training' offset 0,0.3
set ylabel 'error of the score'
set key bottom left Left reverse samplen 2.2 spacing 1.25 font ',14'
set logscale x 10
set format x '10^{%T}'
set xtics 10,10
set mxtics default
set xrange [*:*]
set logscale y 10
set format y '10^{%T}'
set ytics 0.0001,10
set mytics default
set yrange [*:*]
set rmargin 2
set size noratio
plot data skip 1 every ::200::219 using (pick(3,1,4)):(pick(3,1,5)) with lines linewidth 2.5 linecolor rgb '#D55E00' title 'DSM', \
     data skip 1 every ::220::239 using (pick(3,2,4)):(pick(3,2,5)) with lines linewidth 2.5 linecolor rgb '#009E73' title 'DSM, same targets', \
     data skip 1 every ::240::259 using (pick(3,3,4)):(pick(3,3,5)) with lines linewidth 2.5 linecolor rgb '#E69F00' title 'FP', \
     data skip 1 every ::260::279 using (pick(3,4,4)):(pick(3,4,5)) with lines linewidth 2.5 linecolor rgb '#56B4E9' title 'FP, same targets', \
     data skip 1 every ::280::299 using (pick(3,5,4)):(pick(3,5,5)) with lines linewidth 2.5 linecolor rgb '#0072B2' title 'HB'

set title 'sparse dense gmm: low density' font ',17'
set xlabel 'step of training' offset 0,0.3
set ylabel 'error of the score'
set key bottom left Left reverse samplen 2.2 spacing 1.25 font ',14'
set logscale x 10
set format x '10^{%T}'
set xtics 10,10
set mxtics default
set xrange [*:*]
set logscale y 10
set format y '10^{%T}'
set ytics 0.001,10
set mytics default
set yrange [*:*]
set rmargin 2
set size noratio
plot data skip 1 every ::300::319 using (pick(4,1,4)):(pick(4,1,5)) with lines linewidth 2.5 linecolor rgb '#D55E00' title 'DSM', \
     data skip 1 every ::320::339 using (pick(4,2,4)):(pick(4,2,5)) with lines linewidth 2.5 linecolor rgb '#009E73' title 'DSM, same targets', \
     data skip 1 every ::340::359 using (pick(4,3,4)):(pick(4,3,5)) with lines linewidth 2.5 linecolor rgb '#E69F00' title 'FP', \
     data skip 1 every ::360::379 using (pick(4,4,4)):(pick(4,4,5)) with lines linewidth 2.5 linecolor rgb '#56B4E9' title 'FP, same targets', \
     data skip 1 every ::380::399 using (pick(4,5,4)):(pick(4,5,5)) with lines linewidth 2.5 linecolor rgb '#0072B2' title 'HB'
unset multiplot
