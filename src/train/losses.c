/* The losses: one line each. X(NAME, name) is the hb_loss_ops hb_loss_NAME of the file that has it, and how users call it;
 * its place is its value of hb_loss. */
#include "train/trainer.h"

#define LOSSES(X)                                                                                  \
    X(dsm, "dsm")                                                                                  \
    X(fp, "fp")                                                                                    \
    X(hb, "hb")                                                                                    \
    X(hb_paper, "hb-paper")

#define DECLARATION(law, name) extern const hb_loss_law hb_loss_##law;
#define ROW(law, name) &hb_loss_##law,
#define NAME(law, name) name,

LOSSES(DECLARATION)

const hb_loss_law *const hb_loss_laws[] = {LOSSES(ROW) NULL};

const char *const *hb_loss_names(void)
{
    static const char *const names[] = {LOSSES(NAME) NULL};
    return names;
}
