# Draws the numbers of the .plot.csv file beside this script. In this directory:
#     gnuplot -e "format='svg'" THIS.gp > FIGURE.svg      (or png, pdf)
if (!exists("format")) format = 'svg'
if (format eq 'svg') set terminal svg name 'figure_planar_samples' enhanced size 1240,2560 font 'Helvetica,16' background '#ffffff' linewidth 1 dashlength 1
if (format eq 'png') set terminal pngcairo enhanced size 1391,2873 font 'Helvetica,16' fontscale 0.8419 linewidth 1.123 pointscale 1.123 dashlength 1 background '#ffffff'
if (format eq 'pdf') set terminal pdfcairo enhanced size 12.917in,26.667in font 'Helvetica,16' fontscale 0.62 linewidth 2 pointscale 0.75 dashlength 0.8
if (format eq 'frame') set terminal pngcairo enhanced size 1240,2560 font 'Helvetica,16' fontscale 0.75 linewidth 1 dashlength 1 background '#ffffff'
if (format eq 'page') set terminal pngcairo enhanced size 1736,3584 font 'Helvetica,16' fontscale 1.05 linewidth 1.4 pointscale 1.4 dashlength 1 background '#ffffff'
data = './planar_samples.plot.csv'
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
head = 0.004839
set multiplot layout 8,4

set title 'asymmetric gmm: 4 of 4 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::0::499 using (pick(1,1,4)):(pick(1,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#000000' notitle

set title 'DSM: 4 of 4 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::500::999 using (pick(2,1,4)):(pick(2,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#D55E00' notitle

set title 'DSM, same targets: 4 of 4 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::1000::1499 using (pick(3,1,4)):(pick(3,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#009E73' notitle

set title 'HB: 4 of 4 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::1500::1999 using (pick(4,1,4)):(pick(4,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#0072B2' notitle

set title 'double ring: 2 of 2 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::2000::2499 using (pick(5,1,4)):(pick(5,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#000000' notitle

set title 'DSM: 2 of 2 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::2500::2999 using (pick(6,1,4)):(pick(6,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#D55E00' notitle

set title 'DSM, same targets: 2 of 2 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::3000::3499 using (pick(7,1,4)):(pick(7,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#009E73' notitle

set title 'HB: 2 of 2 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::3500::3999 using (pick(8,1,4)):(pick(8,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#0072B2' notitle

set title 'elongated gmm: 3 of 3 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::4000::4499 using (pick(9,1,4)):(pick(9,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#000000' notitle

set title 'DSM: 3 of 3 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::4500::4999 using (pick(10,1,4)):(pick(10,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#D55E00' notitle

set title 'DSM, same targets: 3 of 3 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::5000::5499 using (pick(11,1,4)):(pick(11,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#009E73' notitle

set title 'HB: 3 of 3 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::5500::5999 using (pick(12,1,4)):(pick(12,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#0072B2' notitle

set title 'pinwheel: 5 of 5 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::6000::6499 using (pick(13,1,4)):(pick(13,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#000000' notitle

set title 'DSM: 5 of 5 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::6500::6999 using (pick(14,1,4)):(pick(14,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#D55E00' notitle

set title 'DSM, same targets: 5 of 5 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::7000::7499 using (pick(15,1,4)):(pick(15,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#009E73' notitle

set title 'HB: 5 of 5 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::7500::7999 using (pick(16,1,4)):(pick(16,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#0072B2' notitle

set title 'ring: 1 of 1 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::8000::8499 using (pick(17,1,4)):(pick(17,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#000000' notitle

set title 'DSM: 1 of 1 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::8500::8999 using (pick(18,1,4)):(pick(18,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#D55E00' notitle

set title 'DSM, same targets: 1 of 1 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::9000::9499 using (pick(19,1,4)):(pick(19,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#009E73' notitle

set title 'HB: 1 of 1 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::9500::9999 using (pick(20,1,4)):(pick(20,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#0072B2' notitle

set title 'sparse dense gmm: 5 of 5 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::10000::10499 using (pick(21,1,4)):(pick(21,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#000000' notitle

set title 'DSM: 5 of 5 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::10500::10999 using (pick(22,1,4)):(pick(22,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#D55E00' notitle

set title 'DSM, same targets: 5 of 5 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::11000::11499 using (pick(23,1,4)):(pick(23,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#009E73' notitle

set title 'HB: 5 of 5 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::11500::11999 using (pick(24,1,4)):(pick(24,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#0072B2' notitle

set title 'two moon: 2 of 2 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::12000::12499 using (pick(25,1,4)):(pick(25,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#000000' notitle

set title 'DSM: 2 of 2 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::12500::12999 using (pick(26,1,4)):(pick(26,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#D55E00' notitle

set title 'DSM, same targets: 2 of 2 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::13000::13499 using (pick(27,1,4)):(pick(27,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#009E73' notitle

set title 'HB: 2 of 2 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::13500::13999 using (pick(28,1,4)):(pick(28,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#0072B2' notitle

set title 'two spiral: 2 of 2 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::14000::14499 using (pick(29,1,4)):(pick(29,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#000000' notitle

set title 'DSM: 2 of 2 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::14500::14999 using (pick(30,1,4)):(pick(30,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#D55E00' notitle

set title 'DSM, same targets: 2 of 2 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::15000::15499 using (pick(31,1,4)):(pick(31,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#009E73' notitle

set title 'HB: 2 of 2 modes' font ',17'
set xlabel '{/:Italic x}_1' offset 0,0.3
set ylabel '{/:Italic x}_2'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
unset logscale x
set format x '%g'
set xtics autofreq
set xrange [-4.2000000000000002:4.2000000000000002]
unset logscale y
set format y '%g'
set ytics autofreq
set yrange [-4.2000000000000002:4.2000000000000002]
set rmargin 2
set size noratio
plot data skip 1 every ::15500::15999 using (pick(32,1,4)):(pick(32,1,5)) with points pointtype 7 pointsize 0.25 linecolor rgb '#0072B2' notitle

unset multiplot
