"""The constants and enums of include/heatball/*.h; tests compare them with what the C compiler says."""

import enum

MAX_DIM = 1000000  # HB_MAX_DIM
MAX_THREADS = 1024  # HB_MAX_THREADS


class Status(enum.IntEnum):
    """What a call of the C library returns; the names are those of base.h without HB_."""

    OK = 0
    ERROR_ARGUMENT = 1
    ERROR_MEMORY = 2
    ERROR_PATH = 3
    ERROR_FILE = 4
    ERROR_FORMAT = 5
    ERROR_INTERRUPTED = 6
    ERROR_NUMERICAL = 7
    ERROR_UNAVAILABLE = 8
    ERROR_CALLBACK = 9
    ERROR_DOMAIN = 10


class Isa(enum.IntEnum):
    ISA_AUTO = 0
    ISA_SCALAR = 1
    ISA_SSE2 = 2
    ISA_AVX2 = 3
    ISA_AVX512 = 4


class Measure(enum.IntEnum):
    MEASURE_KAPPA = 0
    MEASURE_SOURCE = 1
    MEASURE_GRADIENT = 2


class Kernel(enum.IntEnum):
    KERNEL_HEAT = 0
    KERNEL_WATSON = 1
    KERNEL_SOURCE = 2
    KERNEL_GRADIENT = 3
    KERNEL_GREEN = 4
    KERNEL_DRIFT = 5


class Dtype(enum.IntEnum):
    DTYPE_F64 = 0
    DTYPE_F32 = 1


class Style(enum.IntEnum):
    STYLE_LINE = 0
    STYLE_DASHED = 1
    STYLE_POINTS = 2
    STYLE_HISTOGRAM = 3
    STYLE_BAND = 4
    STYLE_THIN = 5
    STYLE_ARROWS = 6
    STYLE_IMAGE = 7
    STYLE_DOTS = 8


class Process(enum.IntEnum):
    PROCESS_OU = 0
    PROCESS_VE = 1
    PROCESS_DRIFT = 2


class Format(enum.IntFlag):
    FORMAT_SVG = 1
    FORMAT_PNG = 2
    FORMAT_PDF = 4


class Convention(enum.IntEnum):
    CONVENTION_UNSET = 0
    CONVENTION_ITO = 1
    CONVENTION_STRATONOVICH = 2


class DriftFact(enum.IntEnum):
    DRIFT_FACT_AUTONOMOUS = 1
    DRIFT_FACT_LINEAR = 2
    DRIFT_FACT_GRADIENT = 4
    DRIFT_FACT_REENTRANT = 8


class InitialKind(enum.IntEnum):
    INITIAL_KIND_NONE = 0
    INITIAL_KIND_GAUSSIAN = 1
    INITIAL_KIND_MIXTURE = 2
    INITIAL_KIND_STATIONARY = 3
    INITIAL_KIND_SAMPLES = 4
    INITIAL_KIND_UNIFORM = 5
    INITIAL_KIND_CALLBACK = 6
    INITIAL_KIND_OTHER = 7
    INITIAL_KIND_DENSITY = 8
    INITIAL_KIND_POINT = 9


class BallsKind(enum.IntEnum):
    BALLS_KIND_LOG_DENSITY = 0
    BALLS_KIND_SCORE = 1


class Quantity(enum.IntEnum):
    QUANTITY_U = 0
    QUANTITY_V = 1
    QUANTITY_W = 2


class Method(enum.IntEnum):
    METHOD_AUTO = 0
    METHOD_GRID = 1
    METHOD_MEANVALUE = 2
    METHOD_PARTICLES = 3
    METHOD_WALK = 4
    METHOD_NETWORK = 5


class SolveSetting(enum.IntEnum):
    SETTING_POINTS = 1
    SETTING_BOX = 2
    SETTING_DEGREE = 4
    SETTING_SAMPLES = 8
    SETTING_LIFT = 16
    SETTING_RADIUS = 32
    SETTING_STDERR = 64
    SETTING_STDERR_SCORE = 128
    SETTING_MAX_TIME = 256
    SETTING_STATE = 512
    SETTING_PATHS = 1024
    SETTING_TRAINING = 2048


class Column(enum.IntEnum):
    COLUMN_DENSITY = 0
    COLUMN_DENSITY_SE = 1
    COLUMN_LOG_DENSITY = 2
    COLUMN_LOG_DENSITY_SE = 3
    COLUMN_SCORE = 4
    COLUMN_SCORE_SE = 5
    COLUMN_ENTROPY_DENSITY = 6
    COLUMN_ENTROPY_DENSITY_SE = 7


class Head(enum.IntEnum):
    HEAD_SCORE = 0
    HEAD_ENERGY = 1
    HEAD_HELMHOLTZ = 2


class Standardise(enum.IntEnum):
    STANDARDISE_AUTO = -1
    STANDARDISE_NO = 0
    STANDARDISE_COMMON = 1
    STANDARDISE_AXIS = 2


class Loss(enum.IntEnum):
    LOSS_DSM = 0
    LOSS_FP = 1
    LOSS_HB = 2
    LOSS_HB_PAPER = 3


class SettingKind(enum.IntEnum):
    SETTING_KIND_FLAG = 0
    SETTING_KIND_INTEGER = 1
    SETTING_KIND_UNSIGNED = 2
    SETTING_KIND_REAL = 3
    SETTING_KIND_CHOICE = 4
    SETTING_KIND_POINTER = 5


class SettingRule(enum.IntEnum):
    SETTING_RULE_ABOVE = 1
    SETTING_RULE_BELOW = 2
    SETTING_RULE_RESULT = 4


class Solver(enum.IntEnum):
    SOLVER_SDE = 0
    SOLVER_ODE = 1
    SOLVER_HEUN = 2


class Verdict(enum.IntEnum):
    VERDICT_HOLDS = 0
    VERDICT_FAILS = 1
    VERDICT_SKIPPED = 2


class Denoise(enum.IntEnum):
    DENOISE_NONE = 0
    DENOISE_MEAN = 1
    DENOISE_FLOW = 2


class Part(enum.IntEnum):
    PART_TRAIN = 0
    PART_TEST = 1


class Resample(enum.IntEnum):
    RESAMPLE_AREA = 0
    RESAMPLE_BILINEAR = 1


class Binarize(enum.IntEnum):
    BINARIZE_NONE = 0
    BINARIZE_THRESHOLD = 1
    BINARIZE_STOCHASTIC = 2


class Speck(enum.IntEnum):
    SPECK_MEDIAN = 0
    SPECK_ISOLATED = 1


# C name -> enum here; a member's C name is HB_ and its own name.
ENUMS = {
    "hb_status": Status,
    "hb_isa": Isa,
    "hb_measure": Measure,
    "hb_kernel": Kernel,
    "hb_dtype": Dtype,
    "hb_style": Style,
    "hb_convention": Convention,
    "hb_drift_fact": DriftFact,
    "hb_initial_kind": InitialKind,
    "hb_balls_kind": BallsKind,
    "hb_quantity": Quantity,
    "hb_method": Method,
    "hb_solve_setting": SolveSetting,
    "hb_column": Column,
    "hb_process": Process,
    "hb_head": Head,
    "hb_standardise": Standardise,
    "hb_loss": Loss,
    "hb_setting_kind": SettingKind,
    "hb_setting_rule": SettingRule,
    "hb_solver": Solver,
    "hb_denoise": Denoise,
    "hb_verdict": Verdict,
    "hb_part": Part,
    "hb_resample": Resample,
    "hb_binarize": Binarize,
    "hb_speck": Speck,
    "hb_format": Format,
}
