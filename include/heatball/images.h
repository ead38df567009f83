/* heatball/images.h: sets of grey images to learn from, and pictures of many of them.
 * Second tier: for bindings and tools.
 *
 * Pixels are double, by default 0 black .. 1 white; an image is [height][width] from its top left
 * corner, a set [count][height][width], so that pixels is also data[count][height*width] of
 * hb_train.
 *
 *     hb_images_settings settings;
 *     hb_images_settings_default(sizeof settings, &settings);
 *     settings.resize = 16;
 *     hb_images images;
 *     HB_TRY(hb_images_load(ctx, &settings, HB_PART_TRAIN, "mnist", sizeof images, &images));
 *     hb_images_destroy(ctx, &images);
 *
 * docs/howto/images.md has the formulas and says where the files are. */
#ifndef HEATBALL_IMAGES_H
#define HEATBALL_IMAGES_H

#include <heatball/settings.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hb_part { HB_PART_TRAIN, HB_PART_TEST } hb_part;
typedef enum hb_resample { HB_RESAMPLE_AREA, HB_RESAMPLE_BILINEAR } hb_resample;
typedef enum hb_binarize {
    HB_BINARIZE_NONE,
    HB_BINARIZE_THRESHOLD, /* 1 where a pixel is at least 1/2, else 0 */
    HB_BINARIZE_STOCHASTIC /* 1 with the pixel's value as probability: by (seed, image, pixel) */
} hb_binarize;

typedef struct hb_images_settings {
    size_t size;      /* set by hb_images_settings_default */
    size_t limit;     /* only the first so many images; 0 (default): all */
    int resize;       /* pixels of each side; 0 (default): as in the file */
    int resample;     /* hb_resample; default HB_RESAMPLE_AREA */
    int binarize;     /* hb_binarize, after resizing; default HB_BINARIZE_NONE */
    uint64_t seed;    /* of HB_BINARIZE_STOCHASTIC; default 42 */
    double low, high; /* what black and white become, last of all; default 0, 1 */
} hb_images_settings;

typedef struct hb_images {
    size_t count;
    int height, width;
    int classes;      /* 1 + the largest label; 0 without labels */
    double low, high; /* of the settings */
    double *pixels;   /* [count][height][width] */
    int *labels;      /* [count]; NULL when there is no file of labels */
} hb_images;

HB_API void hb_images_settings_default(size_t size, hb_images_settings *settings);
HB_API const hb_setting *hb_images_setting(size_t index); /* as hb_train_setting */
/* Reads a set: one of hb_images_names; a directory with the four files train-images-idx3-ubyte,
 * train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte; or a file of images in
 * the IDX format, for which part does not count. Files may be compressed, with .gz after their
 * name. Labels are in the file whose name has labels for images and idx1 for idx3, if that is
 * there. settings NULL: defaults. HB_ERROR_PATH: the set is not here, with the way to get it;
 * HB_ERROR_FORMAT: a file is something else, cut short or damaged, with the reason. */
HB_API hb_status hb_images_load(hb_context *context, const hb_images_settings *settings,
                                hb_part part, const char *name_or_path, size_t size,
                                hb_images *out);
HB_API void hb_images_destroy(hb_context *context, hb_images *images); /* a zeroed one is fine */

/* Dequantisation: pixels[i] = (255 pixels[i] + U)/256 for i < n, U the uniform draw first+i of
 * seed: a byte becomes a number of its own interval of length 1/256 of [0,1]. */
HB_API hb_status hb_images_dequantise(hb_context *context, uint64_t seed, uint64_t first, size_t n,
                                      double *pixels);

/* ---- where sets are ---- */

HB_API const char *const *hb_images_names(void);         /* "mnist", "fashion-mnist", NULL */
HB_API const char *hb_images_describe(const char *name); /* one line; NULL when unknown */
/* Where the four files of a named set are (*present is 1) or belong (0): in
 * $XDG_CACHE_HOME/heatball/NAME, else $HOME/.cache/heatball/NAME, or where a system package has put
 * them. `heatball data fetch` gets those of mnist. HB_ERROR_PATH when both variables are empty. */
HB_API hb_status hb_images_directory(hb_context *context, const char *name, size_t size,
                                     char *directory, int *present);

/* ---- pictures ---- */

/* A picture (.png) of rows x columns images on a grid with thin gaps:
 * pixels[rows*columns][height][width], 0 black .. 1 white, row by row. Pixels below 0 are drawn
 * black and above 1 white. Small images are magnified by an integer factor, 16 x 16 ones 4 times.
 * HB_ERROR_ARGUMENT when a pixel is nan, with its image, or when the picture would be more than
 * HB_PNG_SIDE (file.h) wide or high. */
HB_API hb_status hb_images_grid_write(hb_context *context, int rows, int columns, int height,
                                      int width, const char *path, const double *pixels);

#ifdef __cplusplus
}
#endif
#endif
