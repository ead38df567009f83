# Draws the numbers of the .plot.csv file beside this script. In this directory:
#     gnuplot -e "format='svg'" THIS.gp > FIGURE.svg      (or png, pdf)
if (!exists("format")) format = 'svg'
if (format eq 'svg') set terminal svg name 'figure_drift_errors' enhanced size 1100,800 font 'Helvetica,16' background '#ffffff' linewidth 1 dashlength 1
if (format eq 'png') set terminal pngcairo enhanced size 2200,1600 font 'Helvetica,16' fontscale 1.5 linewidth 2 pointscale 2 dashlength 1 background '#ffffff'
if (format eq 'pdf') set terminal pdfcairo enhanced size 11.458in,8.333in font 'Helvetica,16' fontscale 0.62 linewidth 2 pointscale 0.75 dashlength 0.8
if (format eq 'frame') set terminal pngcairo enhanced size 1100,800 font 'Helvetica,16' fontscale 0.75 linewidth 1 dashlength 1 background '#ffffff'
if (format eq 'page') set terminal pngcairo enhanced size 1540,1120 font 'Helvetica,16' fontscale 1.05 linewidth 1.4 pointscale 1.4 dashlength 1 background '#ffffff'
data = './drift_errors.plot.csv'
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
head = 0.005455
set multiplot layout 2,1

set title '(A) All draws' font ',17'
unset xlabel
set ylabel 'error of the score, {/:Italic τ} = 0.3'
set key top left Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xtics ('bistable' 1, 'rotating' 2, 'Müller-like' 3, 'Van der Pol' 4, '4 wells' 5, '8 wells' 6, '16 wells' 7)
set xrange [0.40000000000000002:7.5999999999999996]
set logscale y 10
set format y '10^{%T}'
set ytics 0.001,10
set mytics default
set yrange [*:*]
set rmargin 2
set size noratio
plot data skip 1 every ::0::6 using (pick(1,1,4)):(pick(1,1,5)):(bound(1,1,6)):(bound(1,1,7)) with yerrorbars linewidth 2 pointtype 5 pointsize 0.9 linecolor rgb '#D55E00' title 'DSM', \
     data skip 1 every ::7::13 using (pick(1,2,4)):(pick(1,2,5)):(bound(1,2,6)):(bound(1,2,7)) with yerrorbars linewidth 2 pointtype 11 pointsize 0.9 linecolor rgb '#CC79A7' title 'DSM, same targets', \
     data skip 1 every ::14::20 using (pick(1,3,4)):(pick(1,3,5)):(bound(1,3,6)):(bound(1,3,7)) with yerrorbars linewidth 2 pointtype 9 pointsize 0.9 linecolor rgb '#009E73' title 'FP', \
     data skip 1 every ::21::27 using (pick(1,4,4)):(pick(1,4,5)):(bound(1,4,6)):(bound(1,4,7)) with yerrorbars linewidth 2 pointtype 7 pointsize 0.9 linecolor rgb '#0072B2' title 'HB', \
     data skip 1 every ::28::34 using (pick(1,5,4)):(pick(1,5,5)):(bound(1,5,6)):(bound(1,5,7)) with yerrorbars linewidth 2 pointtype 15 pointsize 0.9 linecolor rgb '#56B4E9' title 'DSM, same targets and time', \
     data skip 1 every ::35::41 using (pick(1,6,4)):(pick(1,6,5)):(bound(1,6,6)):(bound(1,6,7)) with yerrorbars linewidth 2 pointtype 4 pointsize 0.9 linecolor rgb '#000000' title 'FP, same time'

set title '(B) The fifth with the lowest density' font ',17'
unset xlabel
set ylabel 'error of the score, {/:Italic τ} = 0.3'
set key top left Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xtics ('bistable' 1, 'rotating' 2, 'Müller-like' 3, 'Van der Pol' 4, '4 wells' 5, '8 wells' 6, '16 wells' 7)
set xrange [0.40000000000000002:7.5999999999999996]
set logscale y 10
set format y '10^{%T}'
set ytics 0.001,10
set mytics default
set yrange [*:*]
set rmargin 2
set size noratio
plot data skip 1 every ::42::48 using (pick(2,1,4)):(pick(2,1,5)):(bound(2,1,6)):(bound(2,1,7)) with yerrorbars linewidth 2 pointtype 5 pointsize 0.9 linecolor rgb '#D55E00' title 'DSM', \
     data skip 1 every ::49::55 using (pick(2,2,4)):(pick(2,2,5)):(bound(2,2,6)):(bound(2,2,7)) with yerrorbars linewidth 2 pointtype 11 pointsize 0.9 linecolor rgb '#CC79A7' title 'DSM, same targets', \
     data skip 1 every ::56::62 using (pick(2,3,4)):(pick(2,3,5)):(bound(2,3,6)):(bound(2,3,7)) with yerrorbars linewidth 2 pointtype 9 pointsize 0.9 linecolor rgb '#009E73' title 'FP', \
     data skip 1 every ::63::69 using (pick(2,4,4)):(pick(2,4,5)):(bound(2,4,6)):(bound(2,4,7)) with yerrorbars linewidth 2 pointtype 7 pointsize 0.9 linecolor rgb '#0072B2' title 'HB', \
     data skip 1 every ::70::76 using (pick(2,5,4)):(pick(2,5,5)):(bound(2,5,6)):(bound(2,5,7)) with yerrorbars linewidth 2 pointtype 15 pointsize 0.9 linecolor rgb '#56B4E9' title 'DSM, same targets and time', \
     data skip 1 every ::77::83 using (pick(2,6,4)):(pick(2,6,5)):(bound(2,6,6)):(bound(2,6,7)) with yerrorbars linewidth 2 pointtype 4 pointsize 0.9 linecolor rgb '#000000' title 'FP, same time'
unset multiplot
