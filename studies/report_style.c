/* The style sheet of the page.
 *
 * Colours follow the reader's light or dark setting; figures stay on white, since photographs and colour
 * scales must not be turned round. Nothing is wider than the window but what stands in a .scroll box.
 * A table shrinks first: a number and its error may stand on two lines. Where it has less room than its
 * class fN says, it is folded (FOLD). Browsers that do not know @container scroll it, with shadows at
 * the sides that hide something. On paper everything is light, boxes do not scroll, and links to files
 * show where they lead. */
#include "report_html.h"

/* One row of a folded table: its name on a line, below it the cells, as many side by side as fit, each
 * under the title of its column. */
#define FOLD(N)                                                                                    \
    "@container(max-width:" #N "rem){.f" #N ",.f" #N " tbody{display:block}"                       \
    ".f" #N " thead{position:absolute;left:-999rem}"                                               \
    ".f" #N " tr{display:grid;grid-template-columns:repeat(auto-fill,minmax(8.5rem,1fr));"         \
    "gap:.3rem .5rem;padding:.5rem 0;border-bottom:1px solid var(--line)}"                         \
    ".f" #N " tbody th{grid-column:1/-1;font-weight:600}"                                          \
    ".f" #N " tbody th,.f" #N " tbody td{border:0;padding:0 .3rem;text-align:left}"                \
    ".f" #N " td::before{content:attr(data-title);display:block;white-space:normal;"               \
    "font-size:.8rem;line-height:1.25;color:var(--soft)}"                                          \
    ".f" #N " td:empty{display:none}}\n",

const char *const hb_page_style[] = {
    /* colours */
    ":root{color-scheme:light dark;--ink:#1b1c1f;--soft:#585a64;--paper:#fff;--card:#f6f6f8;"
    "--line:#d8d9e0;--link:#0b57a4;--good:#00695c;--part:#8a5200;--bad:#b3261e;--paperware:#fbf0dc}"
    "\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#ebecf0;--soft:#a9abb6;--paper:#131417;"
    "--card:#1d1e23;--line:#3b3d47;--link:#8fc1ff;--good:#5fd0bd;--part:#f2b660;--bad:#ff8d83;"
    "--paperware:#372d1c}}\n",
    /* text */
    "*{box-sizing:border-box}html{scroll-padding-top:1rem;-webkit-text-size-adjust:100%}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);"
    "font:1rem/1.55 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}\n"
    ".page{max-width:74rem;margin:0 auto;padding:1rem}\n"
    "h1{font-size:clamp(1.6rem,5vw,2.3rem);line-height:1.2;margin:.4rem 0 .8rem}"
    "h2{font-size:1.5rem;line-height:1.25;margin:3.2rem 0 .6rem;border-top:2px solid var(--line);"
    "padding-top:1.4rem}"
    "h3{font-size:1.2rem;line-height:1.3;margin:2.4rem 0 .4rem}"
    "h4{font-size:1rem;margin:0;font-weight:600}\n"
    "p,ul,ol{margin:.5rem 0}.prose{max-width:46rem}.soft,.about{color:var(--soft)}"
    ".about{max-width:46rem}a{color:var(--link);text-underline-offset:.15em}"
    "a:focus-visible,.scroll:focus-visible{outline:3px solid var(--link);outline-offset:2px}\n"
    "code{font:.88em ui-monospace,Menlo,Consolas,'DejaVu Sans "
    "Mono',monospace;background:var(--card);"
    "padding:.1em .35em;border-radius:.3em;overflow-wrap:anywhere}"
    "pre{background:var(--card);padding:.8rem 1rem;border-radius:.5rem;overflow-x:auto;"
    "max-width:100%}pre code{padding:0;background:none;overflow-wrap:normal}\n"
    ".skip{position:absolute;left:-99rem}.skip:focus{position:static}\n",
    /* pairs of a name and a text */
    "dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.2rem 1rem;margin:.6rem 0 "
    "0}"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}\n",
    /* contents */
    "nav ol{list-style:none;padding:0;margin:.3rem 0}nav ol ol{padding-left:1.4rem;margin:0}"
    "nav li{margin:.12rem 0}nav a{text-decoration:none}nav a:hover{text-decoration:underline}"
    "@media(min-width:44rem){nav>ol{columns:2;column-gap:3rem}nav>ol>li{break-inside:avoid}}\n",
    /* verdicts and claims */
    ".holds{--tone:var(--good)}.part{--tone:var(--part)}.fails{--tone:var(--bad)}\n"
    ".verdict{color:var(--tone);font-weight:600}.verdict .mark{display:inline-block;width:1.25em}\n"
    ".claim{background:var(--card);border-left:.35rem solid var(--tone);border-radius:.4rem;"
    "padding:.8rem 1.1rem;margin:1rem 0}.claim .top{display:flex;flex-wrap:wrap;"
    "justify-content:space-between;gap:0 1.5rem}.claim .top p{margin:0}"
    ".claim h4 a{color:inherit;text-decoration:none}.claim h4 span{font-weight:400;"
    "color:var(--soft)}.statement{font-size:1.08rem;margin:.4rem 0;max-width:56rem}"
    ".claim dd.paper{background:var(--paperware);padding:0 .4em;border-radius:.25em;"
    "justify-self:start}\n"
    ".skipped{border:1px dashed var(--bad);border-radius:.4rem;padding:.8rem 1.1rem;margin:1rem "
    "0}\n",
    /* tables */
    ".scroll{overflow-x:auto;max-width:100%}\n"
    ".table .scroll{container-type:inline-size;background:linear-gradient(to right,var(--paper) "
    "40%,transparent) 0 0/2.5rem 100% no-repeat local,linear-gradient(to left,var(--paper) "
    "40%,transparent) 100% 0/2.5rem 100% no-repeat local,linear-gradient(to "
    "right,var(--line),transparent) 0 0/.9rem 100% no-repeat scroll,linear-gradient(to "
    "left,var(--line),transparent) 100% 0/.9rem 100% no-repeat scroll}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.94rem;line-height:"
    "1.4}"
    "th,td{padding:.3rem .7rem;border-bottom:1px solid var(--line);text-align:left;"
    "vertical-align:top}thead th{border-bottom:2px solid var(--line);vertical-align:bottom}"
    "tbody th{font-weight:400}.n{text-align:right}td.n span{white-space:nowrap}"
    ".dense{font-size:.84rem}.dense th,.dense td{padding:.3rem .4rem}"
    "thead th{max-width:9.5rem}.summary thead "
    "th{max-width:none}sup,sub{line-height:0;font-size:.75em}"
    "td.paper,th.paper{background:var(--paperware)}\n"
    ".table{margin:1.4rem 0}.table h4{margin-bottom:.4rem}.note{color:var(--soft);font-size:.92rem;"
    "max-width:62rem;margin-top:.4rem}.key{display:inline-block;width:1em;height:.8em;"
    "background:var(--paperware);border:1px solid var(--line);margin-right:.3em}\n"
    ".summary{width:100%}.summary td:first-child{color:var(--soft)}"
    ".summary .verdict{white-space:nowrap}.summary a{color:inherit;text-decoration:none}"
    ".summary a:hover{text-decoration:underline}\n",
    /* tables that are too wide */
    HB_PAGE_FOLDS(FOLD)
    /* figures */
    "figure{margin:1.4rem 0}figure .scroll{background:#fff;border:1px solid var(--line);"
    "border-radius:.4rem;padding:.4rem}"
    "figure svg,figure img{width:100%;height:auto;display:block;margin:0 auto;color:#000}"
    "figure p{color:#333;margin:.5rem}"
    "figure svg text{font-family:Helvetica,Arial,'Liberation Sans',sans-serif}"
    "figcaption{color:var(--soft);font-size:.94rem;margin-top:.5rem;max-width:62rem}"
    "figcaption b{color:var(--ink)}\n"
    ".corrections>li{margin:1rem 0;max-width:56rem}.corrections h3{margin:0}"
    ".corrections ul{padding-left:1.2rem}footer{margin-top:3rem;color:var(--soft);"
    "font-size:.92rem;border-top:1px solid var(--line);padding-top:.8rem}\n",
    /* phone */
    "@media(max-width:40rem){dl{grid-template-columns:minmax(0,1fr);gap:0}dt{margin-top:.4rem;"
    "font-size:.88rem}.claim{padding:.7rem .8rem}.summary th,.summary td{padding:.35rem .3rem}"
    ".summary .where{display:none}.summary .verdict{white-space:normal}"
    ".page{padding:.8rem}ol.corrections{padding-left:1.4rem}}\n",
    /* paper */
    "@media print{:root{color-scheme:light;--ink:#000;--soft:#444;--paper:#fff;--card:#f6f6f8;"
    "--line:#bbb;--link:#000;--good:#00695c;--part:#8a5200;--bad:#b3261e;--paperware:#fbf0dc}"
    "*{-webkit-print-color-adjust:exact;print-color-adjust:exact}"
    "html{font-size:10pt}.page{max-width:none;padding:0}.skip{display:none}"
    ".scroll,pre{overflow:visible}pre code{white-space:pre-wrap}"
    "figure svg,figure "
    "img{min-width:0!important;max-width:100%!important;max-height:20cm;object-fit:contain}"
    "figure,.claim,tr,.corrections>li{break-inside:avoid}h2,h3,h4{break-after:avoid}"
    "table,.dense{font-size:8.5pt}th,td,.dense th,.dense td{padding:.15rem .35rem}"
    ".table .scroll{background:none}"
    "a[href$='.csv']::after,a[href$='.json']::after,a[href$='.svg']::after,a[href$='.png']::after"
    "{content:' (' attr(href) ')';font-size:.85em;color:#444}}\n",
    NULL};
