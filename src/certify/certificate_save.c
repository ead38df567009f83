/* stub */
#include "base/context.h"
#include "certify/certificate_files.h"
hb_status hb_certificate_save(hb_context *context, const hb_certificate *certificate,
                              const char *directory)
{
    HB_CHECK(context, certificate && directory, HB_ERROR_ARGUMENT, "NULL");
    return HB_OK;
}
