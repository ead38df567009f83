/* studies/mnist/mnist.h: the parts of the study of 16 x 16 digits.
 *
 *     mnist_plan.c      sizes, settings of the trainings, the cells of the table
 *     mnist_data.c      the images, the classifier, where the kept model is
 *     mnist_judge.c     numbers of a set of generated images;  mnist_loss.c: the held-out loss of a
 *                       model
 *     mnist_train.c     the main model and the methods beside each other
 *     mnist_cells.c     the table over det_tau, n_correct and n_steps
 *     mnist_few.c       few training images: dsm, dsm stopped in time, fp, hb;
 *                       mnist_few_results.c: its files
 *     mnist_parts.c     finished parts as files, for --resume
 *     mnist_progress.c  one progress for all of it
 *     mnist_summary.c   mnist.csv, mnist.json, the printed table
 *     mnist_numbers.c   numbers for the formulas of the page
 *     mnist_grids.c     pictures of digits;  mnist_pictures.c: files of them
 *     mnist_study.c     the study itself */
#pragma once

#include "study_tools.h"

#include <heatball/classify.h>
#include <heatball/generate.h>
#include <heatball/images.h>
#include <heatball/metrics.h>
#include <heatball/train.h>

enum {
    MNIST_SIDE = 16,
    MNIST_CLASSES = 10, /* at most so many are shown */
    MNIST_BANDS = 4,    /* of tau, for the held-out loss */
    MNIST_DET_TAUS = 4, /* 0.05, 0.10, 0.15, 0.20 */
    MNIST_CORRECTS = 3, /* 0, 1, 2 */
    MNIST_STEPS = 3,    /* 400, 500, 600 */
    MNIST_CELLS = MNIST_DET_TAUS * MNIST_CORRECTS * MNIST_STEPS,
    MNIST_PAPER = 4,      /* rows of the paper's table */
    MNIST_NEIGHBOURS = 3, /* k of precision and recall */
    MNIST_TAUS = 4,       /* of the held-out loss with few images: 0.05, 0.1, 0.3, 1 */
    MNIST_FEW_SIZES = 5,  /* 300, 1000, 3000, 10000, all but the validation's */
    MNIST_FEW_SEEDS = 3,
    MNIST_FEW_SHOWN = 20 /* digits of a picture */
};

/* ---- numbers of a set of images; NaN: not measured ---- */

typedef enum hb_mnist_value {
    MNIST_MMD2, /* unbiased estimate of the square, against test images */
    MNIST_MMD2_SE,
    MNIST_MMD,       /* root of the biased one */
    MNIST_SPECKS,    /* share of images with salt-and-pepper artifacts */
    MNIST_CONFIDENT, /* share that the classifier is surer of than CONFIDENT */
    MNIST_PRECISION,
    MNIST_RECALL,
    MNIST_NEAREST,    /* median distance to the nearest training image, over that of test images */
    MNIST_NEAR_SHARE, /* share that is nearer than all but 1 % of the test images */
    MNIST_AGREE,      /* share whose class is that asked for */
    MNIST_SHARE,      /* + class: share of each class */
    MNIST_LOSS = MNIST_SHARE + MNIST_CLASSES,      /* held-out denoising loss of a model */
    MNIST_LOSS_BAND,                               /* + band of tau */
    MNIST_LOSS_AT = MNIST_LOSS_BAND + MNIST_BANDS, /* + index of tau: the same at one tau */
    MNIST_STOP_AT = MNIST_LOSS_AT + MNIST_TAUS,    /* + index of tau: the step it was stopped at */
    MNIST_VALUES = MNIST_STOP_AT + MNIST_TAUS
} hb_mnist_value;
const char *hb_mnist_value_name(int value, char buffer[32]);

#define MNIST_CONFIDENT_AT 0.9

/* ---- what is done ---- */

typedef enum hb_mnist_method {
    MNIST_DSM,
    MNIST_FP,
    MNIST_HB,
    MNIST_DSM_TIME, /* as long as hb */
    MNIST_FP_TIME,
    MNIST_DSM_SCORE, /* dsm with the score head */
    MNIST_METHODS
} hb_mnist_method;

typedef struct hb_mnist_recipe {
    const char *name;
    int loss, head; /* hb_loss, hb_head */
    double cost;    /* processor time of a step, in steps of dsm */
    int as_long_as; /* the method whose time it gets, or -1: as many epochs as all */
} hb_mnist_recipe;
extern const hb_mnist_recipe hb_mnist_recipes[MNIST_METHODS];

/* How much work: the full study or --quick. */
typedef struct hb_mnist_size {
    uint64_t seed;
    int quick;
    size_t train_rows, test_rows; /* of the files; 0: all */
    int epochs, width;            /* of the main model */
    int compare_epochs, compare_width;
    size_t compare_rows; /* training images of the comparison */
    int classifier_epochs, classifier_width;
    size_t images;       /* generated for a cell */
    size_t paper_images; /* for a cell of the paper's table */
    size_t real;         /* test images that they are compared with */
    size_t held;         /* test images of the memorisation's and the loss's measure */
    size_t compare_images;
    int compare_steps; /* of Heun's method, for the methods */
    int floor_times;
    int rows, columns; /* of a picture */
    size_t few_images
        [MNIST_FEW_SIZES]; /* training images, with the first of the figures first; 0: not done */
    int few_seeds, few_width;
    uint64_t few_steps,
        few_watch; /* of a training; between looks at the validation images, first a fifth */
    size_t few_validation, few_made;
} hb_mnist_size;
hb_mnist_size hb_mnist_choose_size(const hb_study_settings *settings);

/* Settings of the trainings, without files. */
void hb_mnist_main_settings(const hb_mnist_size *size, hb_train_settings *out);
void hb_mnist_method_settings(const hb_mnist_size *size, size_t rows, int method,
                              hb_train_settings *out);

typedef struct hb_mnist_cell {
    double det_tau;
    int n_correct, n_steps;
    double paper;  /* the paper's MMD; NaN: not in its table */
    size_t images; /* 0: not done */
    double value[MNIST_VALUES];
} hb_mnist_cell;
/* All cells, in the order det_tau, n_correct, n_steps; images is 0 where quick leaves one out. */
void hb_mnist_plan_cells(const hb_mnist_size *size, hb_mnist_cell cells[MNIST_CELLS]);
/* The index of a cell. */
int hb_mnist_cell_at(int det_tau, int n_correct, int n_steps);

/* ---- the state of a run ---- */

typedef struct hb_mnist_progress hb_mnist_progress;

/* Few images: a row of results. */
typedef enum hb_few_method {
    FEW_DSM,
    FEW_STOPPED, /* the same training, stopped in time */
    FEW_FP,
    FEW_HB,
    FEW_METHODS
} hb_few_method;
extern const char *const hb_few_names[FEW_METHODS];

typedef struct hb_few_row {
    double value[MNIST_VALUES];
    double seconds; /* processor time of its training; NaN: not trained in this run */
    unsigned char shown[MNIST_FEW_SHOWN * MNIST_SIDE * MNIST_SIDE]; /* its first digits */
} hb_few_row;

typedef struct hb_mnist {
    hb_context *context; /* of the work: its own, with the caller's number of threads */
    hb_mnist_progress *progress;
    hb_mnist_size size;
    const hb_study_settings *settings;
    const char *parts; /* directory of the finished parts */
    int present;       /* the images are here */
    char missing[512]; /* why not */
    hb_images train, test;
    char data_mark[96]; /* of the images, for fingerprints */
    hb_classifier *classifier;
    double accuracy; /* of it on test images */
    hb_model *model; /* the main one */
    hb_model_info info;
    int kept; /* it is the one of models/ */
    char model_path[4096], model_mark[96];
    double theta;                    /* of artifacts */
    hb_mmd_floor floor, paper_floor; /* for `images` and `paper_images` generated ones */
    double real[MNIST_VALUES];       /* test images judged as if they were generated */
    double method[MNIST_METHODS][MNIST_VALUES];
    uint64_t method_steps[MNIST_METHODS];
    hb_mnist_cell cells[MNIST_CELLS];
    hb_few_row (*few)[MNIST_FEW_SIZES][FEW_METHODS]; // (few_seeds, sizes, methods)
} hb_mnist;

/* ---- data ---- */

/* Reads the images; without them, present is 0 and missing says why. */
hb_status hb_mnist_load(hb_mnist *m);
/* The classifier, trained or read; nothing without images. */
hb_status hb_mnist_prepare_classifier(hb_mnist *m);
/* The path of the kept model; "" when there is none: $HEATBALL_MODELS, models/, or beside the
 * command. */
void hb_mnist_find_model(size_t size, char *path);
/* Some test images, m->size.real of them, to compare with. */
size_t hb_mnist_real_count(const hb_mnist *m);

/* ---- judging ---- */

/* x[n][side*side], labels[n] asked for (may be NULL); pixels are cut to [0,1] first. */
hb_status hb_mnist_judge(hb_mnist *m, size_t n, double *x, const int *labels,
                         double value[MNIST_VALUES]);
/* The same, near copies being those of rows of train. */
hb_status hb_mnist_judge_against(hb_mnist *m, size_t n, double *x, const int *labels, size_t rows,
                                 const double *train, double value[MNIST_VALUES]);
/* theta, the floors, and the numbers of real images. */
hb_status hb_mnist_judge_real(hb_mnist *m);
/* The held-out denoising loss of a model, all and by bands of tau. */
hb_status hb_mnist_judge_loss(hb_mnist *m, const hb_model *model, double value[MNIST_VALUES]);
extern const double hb_mnist_bands[MNIST_BANDS + 1];
/* At each of hb_mnist_taus, over the images pixels[n][side*side]. */
hb_status hb_mnist_loss_at(hb_mnist *m, const hb_model *model, size_t n, const double *pixels,
                           double loss[MNIST_TAUS]);
extern const double hb_mnist_taus[MNIST_TAUS];

/* Images first .. first+n-1 of a model: x[n][side*side] in pixels, labels[n] as asked for. */
hb_status hb_mnist_generate(hb_mnist *m, const hb_model *model,
                            const hb_generate_settings *settings, uint64_t first, size_t n,
                            double *x, int *labels);
void hb_mnist_cell_settings(const hb_mnist *m, const hb_mnist_cell *cell,
                            hb_generate_settings *out);

/* ---- parts ---- */

hb_status hb_mnist_prepare_model(hb_mnist *m);
hb_status hb_mnist_compare_methods(hb_mnist *m);
hb_status hb_mnist_fill_table(hb_mnist *m);
hb_status hb_mnist_few(hb_mnist *m);
/* Its work, for the progress. */
double hb_mnist_few_cost(const hb_mnist *m);
/* The images that size and seed of it are trained on: their number and the first of m->train. */
size_t hb_mnist_few_rows(const hb_mnist *m, int size, int seed, size_t *first);
/* The sizes in the order of their numbers; returns how many are done. */
int hb_mnist_few_order(const hb_mnist *m, int order[MNIST_FEW_SIZES]);
/* Is there a number for it? */
int hb_mnist_few_done(const hb_mnist *m, int size, int seed);
/* A number over the seeds that are done: mean, least, most; returns how many. */
int hb_mnist_few_mean(const hb_mnist *m, int size, int method, int value, double out[3]);

/* The values of a finished part with this fingerprint; *values NULL: there is none. Released by the
 * caller. Nothing is read without --resume. */
hb_status hb_mnist_part_read(hb_mnist *m, const char *name, const char *fingerprint,
                             json_t **values);
/* values is released. */
hb_status hb_mnist_part_write(hb_mnist *m, const char *name, const char *fingerprint,
                              json_t *values);
json_t *hb_mnist_values_json(const double value[MNIST_VALUES]);
void hb_mnist_values_read(const json_t *values, double value[MNIST_VALUES]);
/* A mark of the bytes of a file or of memory. */
hb_status hb_mnist_mark_file(hb_mnist *m, const char *path, char mark[96]);
uint64_t hb_mnist_sum(size_t bytes, const void *data, uint64_t sum);

/* ---- progress ---- */

/* A context of its own whose progress is reported to the caller's as a share of a total in
 * units. */
hb_status hb_mnist_progress_create(hb_context *caller, hb_mnist_progress **out,
                                   hb_context **context);
void hb_mnist_progress_total(hb_mnist_progress *progress, double total);
/* The next `cost` units begin. */
void hb_mnist_progress_step(hb_mnist_progress *progress, double cost);
void hb_mnist_progress_destroy(hb_mnist_progress *progress, hb_context *context);
/* Expected work in units of about a second on two cores. */
double hb_mnist_cost_training(const hb_train_settings *s, size_t rows, double factor);
double hb_mnist_cost_cell(const hb_mnist_cell *cell);

/* ---- pictures ---- */

/* A grid of images with a caption, and its .png, which make fills in. */
typedef struct hb_mnist_picture {
    char name[64], caption[160]; /* name.png */
    int rows, columns;
    double *pixels; // (rows, columns, side*side)
    unsigned char *png;
    size_t bytes;
    int width, height;
} hb_mnist_picture;
hb_status hb_mnist_picture_make(hb_mnist *m, hb_mnist_picture *picture);
/* NAME.svg with all of them, two in a row. */
hb_status hb_mnist_pictures_write(hb_mnist *m, const char *name, int n,
                                  const hb_mnist_picture *pictures);
/* Commas and the pixels as bytes, then the end of the line, for a .csv. */
void hb_mnist_pixels_write(FILE *file, const double *pixels);
void hb_mnist_pixels_header(FILE *file);
/* The same for values: their names, and numbers, empty where they are NaN. */
void hb_mnist_names_write(FILE *file);
void hb_mnist_numbers_write(FILE *file, int n, const double *numbers);
void hb_mnist_pictures_release(int n, hb_mnist_picture *pictures); /* pixels and pngs */

/* ---- results ---- */

hb_status hb_mnist_write_table(hb_context *context, const hb_mnist *m);
void hb_mnist_print(FILE *table, const hb_mnist *m);
json_t *hb_mnist_settings_json(const hb_mnist *m);
json_t *hb_mnist_rows_json(const hb_mnist *m);
/* Numbers for formulas of the page. */
int hb_mnist_find(const void *of, const char *name, int n, const hb_value *v, hb_value *out);
hb_status hb_mnist_grids(hb_mnist *m, json_t *captions);
void hb_mnist_few_print(FILE *table, const hb_mnist *m);
json_t *hb_mnist_few_json(const hb_mnist *m);
/* mnist_few.csv and the picture. */
hb_status hb_mnist_few_files(hb_mnist *m, hb_gallery *gallery);

extern const hb_study hb_mnist_study;
