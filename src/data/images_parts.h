/* data/images_parts.h: what the files of image sets share. */
#pragma once

#include <heatball/images.h>

enum { HB_IMAGES_PATH = 4096 };

/* The files behind name_or_path: images[HB_IMAGES_PATH], labels[HB_IMAGES_PATH], "" when there are
 * none. */
hb_status hb_images_locate(hb_context *context, const char *name_or_path, hb_part part,
                           char *images, char *labels);

/* One image of bytes becomes one of numbers 0 .. 1, of another size. */
typedef struct hb_resizer hb_resizer;
hb_status hb_resizer_create(hb_context *context, hb_resample resample, int in_height, int in_width,
                            int height, int width, hb_resizer **out);
void hb_resizer_destroy(hb_resizer *resizer);         /* NULL is fine */
size_t hb_resizer_scratch(const hb_resizer *resizer); /* numbers that apply needs */
void hb_resizer_apply(const hb_resizer *resizer, const unsigned char *in, double *scratch,
                      double *out);
