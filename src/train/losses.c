/* The losses: one line each. X(NAME, name) is the hb_loss_ops hb_loss_NAME of the file that has it,
 * and how users call it; its place is its value of hb_loss. */
#include "train/trainer.h"

#define LOSSES(X)                                                                                  \
    X(dsm, "dsm")                                                                                  \
    X(fp, "fp")                                                                                    \
    X(hb, "hb")                                                                                    \
    X(hb_paper, "hb-paper")

#define DECLARATION(ops, name) extern const hb_loss_ops hb_loss_##ops;
#define ROW(ops, name) &hb_loss_##ops,
#define NAME(ops, name) name,

LOSSES(DECLARATION)

const hb_loss_ops *const hb_loss_list[] = {LOSSES(ROW) NULL};

const char *const *hb_loss_names(void)
{
    static const char *const names[] = {LOSSES(NAME) NULL};
    return names;
}
