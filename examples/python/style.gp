# The look of all figures: that of src/plot/figure_files.c, and of heatball's plots by matplotlib.
set encoding utf8
set minussign
set datafile separator comma
set linetype 1 linecolor rgb '#0072B2'
set linetype 2 linecolor rgb '#D55E00'
set linetype 3 linecolor rgb '#009E73'
set linetype 4 linecolor rgb '#E69F00'
set linetype 5 linecolor rgb '#CC79A7'
set linetype 6 linecolor rgb '#56B4E9'
set linetype 7 linecolor rgb '#000000'
set palette defined (0 '#ffffff', 1 '#dbe9f6', 2 '#bad6eb', 3 '#89bedc', 4 '#539ecd', 5 '#2b7bba', 6 '#0b559f', 7 '#08306b')
set border 3 linewidth 1.2 linecolor rgb '#404040'
set tics nomirror out scale 0.7,0.4 textcolor rgb '#202020'
set grid xtics ytics back linewidth 0.8 linetype 1 linecolor rgb '#e3e3e3'
set key top right Left reverse samplen 2.2 spacing 1.25 font ',14'
set title font ',17'
